//! Asks EC2 for the zones of subnets.

use std::collections::BTreeSet;

use super::{
    aws_call::{AwsCaller, Call, Service},
    query_answer::read_elements,
};
use crate::account_answers::Answer;

const EC2: Service = Service { name: "ec2" };

/// The zone of each subnet. None if there is no subnet.
pub(super) async fn ask_zones(caller: &AwsCaller, subnets: BTreeSet<String>) -> Answer<Vec<String>> {
    if subnets.is_empty() {
        return Ok(Vec::new());
    }
    let named = (1..)
        .zip(&subnets)
        .map(|(number, subnet)| format!("&SubnetId.{number}={subnet}"));
    let form = format!(
        "Action=DescribeSubnets&Version=2016-11-15{}",
        named.collect::<String>()
    );
    let answer = caller.send(EC2, &Call::Form(&form)).await?;
    let zones = read_elements(&answer, "availabilityZoneId")?;
    if zones.is_empty() {
        return read_elements(&answer, "availabilityZone");
    }
    Ok(zones)
}
