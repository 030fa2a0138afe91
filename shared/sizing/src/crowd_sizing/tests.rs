use super::{
    super::{cost::CrowdCost, cost_table},
    *,
};

const MILLION: CrowdDemand = CrowdDemand {
    cache: Cache::Serverless,
    ..cost_table::MILLION
};

fn size(demand: &CrowdDemand) -> CrowdSizing {
    CrowdSizing::for_crowd(demand, &Settings::default()).expect("the line takes the crowd in")
}

fn dollars(demand: &CrowdDemand, has_cdn: bool) -> f64 {
    let demand = CrowdDemand { has_cdn, ..*demand };
    CrowdCost::of_crowd(&demand, &size(&demand), &Settings::default()).dollars()
}

#[test]
fn a_small_crowd_waits_as_long_as_wished() {
    let demand = CrowdDemand {
        visitors: 20_000,
        ..MILLION
    };
    let sizing = size(&demand);
    assert!((sizing.wait_mean_seconds - 1_800.0).abs() < 1.0, "{sizing:?}");
    assert!(sizing.parts[0].share() < 1.0, "{:?}", sizing.parts[0]);
    assert_eq!(sizing.capacity, 1_112, "3.7 a second, for five minutes each");
}

#[test]
fn a_million_visitors_of_a_serverless_cache_wait_for_the_slot() {
    let sizing = size(&MILLION);
    assert!(sizing.pace_max <= sizing.pace, "{sizing:?}");
    assert!(sizing.wait_mean_seconds > 1_900.0, "{sizing:?}");
    assert_eq!(sizing.parts[0].part, "hash slot of the queue");
    assert!(sizing.parts[0].remedy.contains("CacheNodeType"));
    let node = size(&CrowdDemand {
        cache: Cache::Node,
        ..MILLION
    });
    assert!((node.wait_mean_seconds - 1_800.0).abs() < 1.0, "{node:?}");
}

#[test]
fn without_a_cdn_the_api_takes_the_reads_of_the_document() {
    let crowd = CrowdDemand {
        cache: Cache::Node,
        ..MILLION
    };
    let alone = size(&CrowdDemand {
        has_cdn: false,
        ..crowd
    });
    let share = |sizing: &CrowdSizing, name| {
        let part = sizing.parts.iter().find(|part| part.part == name);
        part.map(PartLoad::share)
    };
    let (with, without) = (share(&size(&crowd), "API Gateway"), share(&alone, "API Gateway"));
    assert!(with < Some(0.5) && without > Some(1.2), "{with:?} {without:?}");
    assert!(share(&alone, "Document") > Some(1.0), "{alone:?}");
    assert_eq!(share(&alone, "CDN"), None);
    assert_eq!(share(&size(&crowd), "Document"), None);
    let gateway = alone.parts.iter().find(|part| part.part == "API Gateway");
    assert!(
        gateway.is_some_and(|part| part.remedy.contains("by a CDN")),
        "{gateway:?}"
    );
}

#[test]
fn a_crowd_that_comes_at_once_is_refused_with_the_time_that_it_needs() {
    let rush = CrowdDemand {
        arrival_seconds: 60,
        ..MILLION
    };
    let refused = CrowdSizing::for_crowd(&rush, &Settings::default()).expect_err("too fast");
    assert!((500..1_500).contains(&refused.seconds), "{refused:?}");
    assert!(refused.to_string().contains("before_opening: draw"), "{refused}");
    let slower = CrowdDemand {
        arrival_seconds: refused.seconds + 1,
        ..rush
    };
    size(&slower);
}

#[test]
fn the_remedy_of_a_function_names_its_parameters() {
    let sizing = size(&CrowdDemand {
        checks: 6,
        cache: Cache::Node,
        ..MILLION
    });
    let validate = sizing
        .parts
        .iter()
        .find(|part| part.part == "Validate")
        .expect("a part");
    assert!(validate.share() > 1.0, "{validate:?}");
    assert!(
        validate.remedy.starts_with("set ValidateConcurrency to "),
        "{validate:?}"
    );
}

/// The prices are constants, so the costs are exact.
#[test]
fn a_million_visitors_cost_about_a_hundred_dollars() {
    let node = CrowdDemand {
        cache: Cache::Node,
        ..MILLION
    };
    let checked = CrowdDemand { checks: 6, ..node };
    let (cdn, with_checks) = (dollars(&node, true), dollars(&checked, true));
    assert!((90.0..115.0).contains(&cdn), "{cdn}");
    assert!((115.0..150.0).contains(&with_checks), "{with_checks}");
    let without_cdn = dollars(&node, false);
    assert!(
        without_cdn > 1.5 * cdn,
        "each read of the document goes to the API: {without_cdn}"
    );
}
