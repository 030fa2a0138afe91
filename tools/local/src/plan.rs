//! Prints the plan for a crowd: the admin function's command `plan`, which needs no deployment.

use std::{fmt::Write, process::ExitCode};

use serde_json::{Value, json};
use vestibule_admin::{Problem, plan_without_deployment};
use vestibule_sizing::facts::{FACTS, FACTS_OF};

use crate::{cli::PlanRequest, cost_table::describe_costs};

/// Prints the plan, or why there is none.
pub(crate) fn print_plan(request: &PlanRequest) -> ExitCode {
    if request.facts {
        print!("{}", describe_facts());
        return ExitCode::SUCCESS;
    }
    if request.cost_table {
        print!("{}", describe_costs());
        return ExitCode::SUCCESS;
    }
    match plan_without_deployment(to_command(request)) {
        Ok(plan) if request.json => println!("{plan:#}"),
        Ok(plan) => print!("{}", describe_plan(&plan)),
        Err(problem) => {
            eprintln!("vestibule-local: {}", detail_of(&problem));
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// What is wrong with the request, and what to do.
fn detail_of(problem: &Problem) -> String {
    problem.to_value()["detail"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn to_command(request: &PlanRequest) -> Value {
    json!({
        "op": "plan",
        "visitors": request.visitors,
        "arrival_seconds": request.arrival_seconds,
        "wait_minutes": request.wait_minutes,
        "session_seconds": request.session_seconds,
        "checks": request.checks,
        "cache": request.cache,
        "without_cdn": request.without_cdn,
    })
}

/// The plan as text for people.
fn describe_plan(plan: &Value) -> String {
    let (settings, number) = (&plan["settings"], |value: &Value| {
        value.as_f64().unwrap_or_default()
    });
    let mut text = format!(
        "settings            capacity {}, batch {} each {} s, sessions of {} s\n\
         visitors an hour    {:.0}; at most {:.0}, with every other part raised\n\
         wait                {:.1} minutes on average, {:.1} at most\n\
         of each visitor     {:.1} requests to the API, {:.1} reads of the public document\n\n\
         {:<24}{:>12}{:>12}{:>8}  unit\n",
        settings["capacity"],
        settings["batch"],
        settings["interval_seconds"],
        settings["session_seconds"],
        number(&plan["visitors_per_hour"]),
        number(&plan["visitors_per_hour_max"]),
        number(&plan["wait_minutes_mean"]),
        number(&plan["wait_minutes_longest"]),
        number(&plan["requests_per_visitor"]),
        number(&plan["document_reads_per_visitor"]),
        "part",
        "needed",
        "given",
        "used",
    );
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for part in plan["parts"].as_array().into_iter().flatten() {
        let used_percent = 100.0 * number(&part["share"]);
        // Writing into a text cannot fail.
        let _ = writeln!(
            text,
            "{:<24}{:>12.0}{:>12.0}{used_percent:>6.0} %  {}",
            word(&part["part"]),
            number(&part["needed"]),
            number(&part["given"]),
            word(&part["unit"]),
        );
        if let Some(remedy) = part["remedy"].as_str() {
            let _ = writeln!(text, "  to raise it: {remedy}");
        }
    }
    let cost = &plan["cost"];
    let _ = writeln!(
        text,
        "\n{:<34}{:>16}{:>10}",
        format!("cost, list prices of {}", word(&cost["prices_of"])),
        "units",
        "USD"
    );
    for item in cost["items"].as_array().into_iter().flatten() {
        let (units, dollars) = (number(&item["units"]), number(&item["dollars"]));
        let _ = writeln!(text, "{:<34}{units:>16.0}{dollars:>10.2}", word(&item["what"]));
    }
    let _ = writeln!(text, "{:<34}{:>16}{:>10.2}", "total", "", number(&cost["total"]));
    for (name, value) in plan["assumed"].as_object().into_iter().flatten() {
        let _ = writeln!(text, "\nnot given, so assumed: {name} {value}");
    }
    text
}

/// The facts as a table.
fn describe_facts() -> String {
    let mut text = format!("limits, measurements and prices as known in {FACTS_OF}\n\n");
    for fact in FACTS {
        // Writing into a text cannot fail.
        let _ = writeln!(
            text,
            "{:<48}{:>14}  {:<24}{}",
            fact.what, fact.value, fact.unit, fact.source
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn request(arguments: &str) -> Result<PlanRequest, String> {
        let cli = Cli::try_parse_from(format!("vestibule-local plan {arguments}").split_whitespace());
        match cli.map_err(|error| error.to_string())?.command {
            Some(Command::Plan(request)) => Ok(request),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn a_plan_names_the_part_that_is_full_first_and_the_cost() {
        let request =
            request("--visitors 1000000 --arrival-seconds 1800 --wait-minutes 30").expect("a request");
        let plan = plan_without_deployment(to_command(&request)).expect("a plan");
        let text = describe_plan(&plan);
        let first = text.lines().skip_while(|line| !line.starts_with("part")).nth(1);
        assert!(
            first.is_some_and(|line| line.starts_with("hash slot of the queue")),
            "{text}"
        );
        assert!(text.contains("to raise it: run the line on nodes"), "{text}");
        let total = text.lines().last().expect("a line");
        assert!(total.starts_with("total"), "{text}");
        let dollars = total.split_whitespace().last().and_then(|word| word.parse().ok());
        assert_eq!(dollars, plan["cost"]["total"].as_f64(), "{text}");
    }

    #[test]
    fn a_crowd_that_comes_too_fast_is_refused_by_name() {
        let request =
            request("--visitors 1000000 --arrival-seconds 60 --wait-minutes 30").expect("a request");
        let problem = plan_without_deployment(to_command(&request)).expect_err("too fast");
        assert!(detail_of(&problem).contains("arrival_seconds"), "{problem:?}");
        assert!(
            detail_of(&problem).contains("before_opening: draw"),
            "{problem:?}"
        );
    }

    #[test]
    fn what_a_plan_needs_is_asked_for() {
        let refused = request("--wait-minutes 5").expect_err("no crowd");
        assert!(refused.contains("--visitors"), "{refused}");
        let plan = plan_without_deployment(to_command(&request("--visitors 5").expect("a request")));
        let text = describe_plan(&plan.expect("a plan"));
        assert!(
            text.contains("not given, so assumed: arrival_seconds 1800"),
            "{text}"
        );
        assert!(request("--facts").is_ok());
        assert!(request("--cost-table").is_ok());
    }

    #[test]
    fn every_fact_has_a_source() {
        let text = describe_facts();
        for fact in FACTS {
            assert!(!fact.source.is_empty() && fact.value > 0.0, "{fact:?}");
            assert!(text.contains(fact.what), "{text}");
        }
    }
}
