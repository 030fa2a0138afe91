//! The cache that the stack creates: serverless, or of two nodes.

use serde_json::{Value, json};
use vestibule_tests::template::{for_each_named, read_template};

#[test]
fn cache_name_changes_with_its_subnets() {
    let template = read_template();
    let name = &template["Resources"]["Cache"]["Properties"]["ServerlessCacheName"];
    for subnet in ["SubnetIds", "SubnetA"] {
        let mut named = false;
        for_each_named(name, "Ref", &mut |resource_name| named |= resource_name == subnet);
        assert!(named, "the name of the cache does not depend on {subnet}");
    }
}

/// `ElastiCache` keeps a limit that is left out. Only 0 removes it.
#[test]
fn a_limit_of_zero_is_sent_to_the_cache() {
    let template = read_template();
    assert_eq!(
        template["Resources"]["Cache"]["Properties"]["CacheUsageLimits"]["ECPUPerSecond"],
        json!({
            "Minimum": { "Ref": "CacheEcpuPerSecondMin" },
            "Maximum": { "Ref": "CacheEcpuPerSecondMax" },
        })
    );
}

#[test]
fn node_cache_fails_over_and_evicts_nothing() {
    let template = read_template();
    let resources = &template["Resources"];
    let cache = &resources["NodeCache"]["Properties"];
    assert_eq!(cache["Engine"], "valkey");
    assert_eq!(cache["NumCacheClusters"], 2);
    for property in [
        "AutomaticFailoverEnabled",
        "MultiAZEnabled",
        "TransitEncryptionEnabled",
        "AtRestEncryptionEnabled",
    ] {
        assert_eq!(cache[property], true, "{property}");
    }
    assert_eq!(cache["CacheParameterGroupName"]["Ref"], "NodeCacheParameters");
    let parameters = &resources["NodeCacheParameters"]["Properties"]["Properties"];
    assert_eq!(*parameters, json!({ "maxmemory-policy": "noeviction" }));
    // The functions reach either cache by the same groups and subnets.
    let serverless = &resources["Cache"]["Properties"];
    assert_eq!(cache["SecurityGroupIds"], serverless["SecurityGroupIds"]);
    assert_eq!(
        resources["NodeCacheSubnets"]["Properties"]["SubnetIds"],
        serverless["SubnetIds"]
    );
}

#[test]
fn users_have_the_same_rights_in_either_cache() {
    let template = read_template();
    let resources = &template["Resources"];
    let rights = |user: &str| resources[user]["Properties"]["AccessString"].clone();
    assert_eq!(rights("NodeCacheUser"), rights("CacheUser"));
    for (cache, list, group, user) in [
        ("Cache", "UserGroupId", "CacheUsers", "CacheUser"),
        ("NodeCache", "UserGroupIds", "NodeCacheUsers", "NodeCacheUser"),
    ] {
        let groups = &resources[cache]["Properties"][list];
        assert!(*groups == json!({ "Ref": group }) || *groups == json!([{ "Ref": group }]));
        assert_eq!(
            resources[group]["Properties"]["UserIds"],
            json!([{ "Ref": user }])
        );
    }
    let password = resources["NodeCacheUser"]["Properties"]["AuthenticationMode"].to_string();
    assert!(
        password.contains("{{resolve:secretsmanager:${NodeCachePassword}:SecretString}}"),
        "{password}"
    );
}

#[test]
fn functions_connect_to_the_cache_that_is_created() {
    let template = read_template();
    let resources = template["Resources"].as_object().expect("resources");
    for (name, resource) in resources {
        let kind = resource["Type"].as_str().expect("a type");
        if kind.starts_with("AWS::ElastiCache::") {
            let expected = if name.starts_with("Node") {
                "MakesNodeCache"
            } else {
                "MakesServerlessCache"
            };
            assert_eq!(resource["Condition"], expected, "{name}");
        }
    }
    let variables = &template["Globals"]["Function"]["Environment"]["Variables"];
    let url = &variables["VESTIBULE_REDIS_URL"]["Fn::If"];
    assert_eq!(url[0], "MakesServerlessCache");
    assert_starts_with(&url[1], "rediss+cluster://${Cache.Endpoint.Address}");
    let otherwise = &url[2]["Fn::If"];
    assert_eq!(otherwise[0], "MakesNodeCache");
    // With cluster mode disabled, the nodes are one server and its replica.
    assert_starts_with(&otherwise[1], "rediss://${NodeCacheUser}:");
    let address = otherwise[1]["Fn::Sub"].as_str().expect("a text");
    assert!(
        address.contains("@${NodeCache.PrimaryEndPoint.Address}:"),
        "{address}"
    );
    assert_eq!(otherwise[2]["Ref"], "RedisUrl");
    // A signature is for the serverless cache only.
    for name in ["VESTIBULE_REDIS_IAM_CACHE", "VESTIBULE_REDIS_IAM_USER"] {
        assert_eq!(variables[name]["Fn::If"][0], "MakesServerlessCache", "{name}");
        assert_eq!(variables[name]["Fn::If"][2], "", "{name}");
    }
}

#[test]
fn zones_of_a_new_network_can_be_chosen() {
    let template = read_template();
    for (index, subnet) in ["SubnetA", "SubnetB"].into_iter().enumerate() {
        let properties = &template["Resources"][subnet]["Properties"];
        let given = &properties["AvailabilityZoneId"]["Fn::If"];
        assert_eq!(given[0], "HasZones", "{subnet}");
        assert_eq!(given[1]["Fn::Select"][0], index, "{subnet}");
        assert_eq!(
            properties["AvailabilityZone"]["Fn::If"][1]["Ref"], "AWS::NoValue",
            "{subnet}"
        );
    }
}

fn assert_starts_with(value: &Value, beginning: &str) {
    let text = value["Fn::Sub"].as_str().expect("a text");
    assert!(text.starts_with(beginning), "{text}");
}
