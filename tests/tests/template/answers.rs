//! The answers of the functions and of the gateway match the API document.

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_tests::{
    in_process::{ApiRequest, InProcessApi, QUEUE, entry_path},
    template::{read_api_document, read_api_documentation},
};

use crate::documented_answers::{assert_fits_schema, assert_matches, resolve_reference};

const ENTRY: &str = "/queues/{queue}/entries/{token}";

#[tokio::test]
async fn answers_of_a_visit_match_the_document() {
    let document = read_api_documentation();
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 1, "message": "hello" });
    let service = InProcessApi::start(settings).await;
    let matches_document = |method, path, answer: &_| assert_matches(&document, method, path, answer);
    let claim_path = format!("{ENTRY}/claim");
    let validate_path = format!("{ENTRY}/validate");
    let complete_path = format!("{ENTRY}/complete");
    let extend_path = format!("{ENTRY}/extend");

    // The request names no visitor, so the server draws one and returns the id.
    let first = service.send(ApiRequest::enter().json(&json!({}))).await;
    matches_document("post", "/queues/{queue}/entries", first.expect_status(201));
    let (visitor, token) = (first.text("visitor").to_owned(), first.text("token").to_owned());
    let at = |verb: &str| format!("{}{verb}", entry_path(&token));
    let again = service.send(ApiRequest::enter().visitor(&visitor)).await;
    matches_document("post", "/queues/{queue}/entries", again.expect_status(200));

    let id = Uuid::new_v4().to_string();
    let second = service.send(ApiRequest::enter().visitor(&id)).await;
    matches_document("post", "/queues/{queue}/entries", second.expect_status(201));
    let waiting = entry_path(second.text("token"));
    matches_document(
        "get",
        ENTRY,
        service.send(ApiRequest::get(&waiting)).await.expect_status(200),
    );
    let early_claim = service
        .send(ApiRequest::post(format!("{waiting}/claim")).visitor(&id))
        .await;
    matches_document("post", &claim_path, early_claim.expect_status(409));
    let foreign = service.send(ApiRequest::get(at("")).visitor(&id)).await;
    matches_document("get", ENTRY, foreign.expect_status(403));
    let invalid = service.send(ApiRequest::get(format!("{waiting}?wait=x"))).await;
    matches_document("get", ENTRY, invalid.expect_status(400));

    matches_document(
        "get",
        "/queues/{queue}",
        service
            .send(ApiRequest::get("/queues/TIMEDEAL:123"))
            .await
            .expect_status(200),
    );
    matches_document(
        "get",
        "/queues/{queue}",
        service
            .send(ApiRequest::get("/queues/other"))
            .await
            .expect_status(404),
    );
    matches_document(
        "get",
        "/.well-known/jwks.json",
        service
            .send(ApiRequest::get("/.well-known/jwks.json"))
            .await
            .expect_status(200),
    );

    let valid = service
        .send(ApiRequest::post(at("/validate")).json(&json!({ "visitor": visitor })))
        .await;
    matches_document("post", &validate_path, valid.expect_status(200));
    let no_json = service
        .send(ApiRequest::post(at("/validate")).raw("text/plain", "x"))
        .await;
    matches_document("post", &validate_path, no_json.expect_status(415));
    let long = "x".repeat(9_000);
    let too_large = service
        .send(ApiRequest::post(at("/validate")).json(&json!({ "visitor": long })))
        .await;
    matches_document("post", &validate_path, too_large.expect_status(413));
    let extended = service
        .send(
            ApiRequest::post(at("/extend"))
                .visitor(&visitor)
                .json(&json!({ "seconds": 30 })),
        )
        .await;
    matches_document("post", &extend_path, extended.expect_status(200));
    matches_document(
        "post",
        &complete_path,
        service
            .send(ApiRequest::post(at("/complete")))
            .await
            .expect_status(204),
    );
    matches_document(
        "get",
        ENTRY,
        service.send(ApiRequest::get(at(""))).await.expect_status(410),
    );

    service.advance_seconds(5);
    service.promote().await;
    let ready = service.send(ApiRequest::get(&waiting)).await;
    assert_eq!(ready.text("state"), "ready");
    matches_document("get", ENTRY, &ready);
    let claimed = service
        .send(ApiRequest::post(format!("{waiting}/claim")).visitor(&id))
        .await;
    matches_document("post", &claim_path, claimed.expect_status(200));
    let left = service.send(ApiRequest::delete(&waiting).visitor(&id)).await;
    matches_document("delete", ENTRY, left.expect_status(204));
}

#[tokio::test]
async fn request_bodies_are_limited_as_documented() {
    let document = read_api_documentation();
    let service = InProcessApi::start(json!({})).await;
    let entered = service.send(ApiRequest::enter()).await;
    let (visitor, token) = (entered.text("visitor"), entered.text("token"));
    let entry = "/queues/{queue}/entries/{token}";
    for (path, mut body, status) in [
        ("/queues/{queue}/load".to_owned(), json!({ "tps": 1 }), 200),
        (format!("{entry}/extend"), json!({}), 200),
        (
            format!("{entry}/validate"),
            json!({ "visitor": visitor, "extend": true }),
            200,
        ),
        (format!("{entry}/complete"), json!({}), 204),
    ] {
        let operation = &document["paths"][&path]["post"];
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let at = path.replace("{queue}", QUEUE).replace("{token}", token);
        let send = |body: &Value| service.send(ApiRequest::post(&at).visitor(visitor).json(body));
        for (name, field) in resolve_reference(&document, schema)["properties"]
            .as_object()
            .expect("fields")
        {
            let Some(maximum) = field["maximum"].as_u64() else {
                continue;
            };
            let before = body.clone();
            body[name] = json!(maximum + 1);
            send(&body).await.expect_invalid_field(name);
            body = before;
            // The largest visit number is valid, but it names another visit, so the last request does not send it.
            if name != "visit" {
                body[name] = json!(maximum);
            }
        }
        body["other"] = json!(1);
        send(&body).await.expect_invalid_field("other");
        body.as_object_mut().expect("an object").remove("other");
        let answer = send(&body).await;
        assert_matches(&document, "post", &path, answer.expect_status(status));
    }
}

#[tokio::test]
async fn answer_in_an_outage_matches_the_document() {
    let service = InProcessApi::start_without_backup(json!({})).await;
    let nowhere = entry_path("1777853d-5d52-8cab-a8ce-928d525f6d31");
    assert_matches(
        &read_api_documentation(),
        "get",
        ENTRY,
        service.send(ApiRequest::get(nowhere)).await.expect_status(503),
    );
}

#[test]
fn gateway_answers_are_problems_readable_across_origins() {
    let documentation = read_api_documentation();
    let document = read_api_document();
    let answers = document["x-amazon-apigateway-gateway-responses"]
        .as_object()
        .expect("answers");
    for (name, answer) in answers {
        let text = answer["responseTemplates"]["application/json"]
            .as_str()
            .expect("a template");
        let problem: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_fits_schema(
            &documentation,
            &problem,
            &json!({ "$ref": "#/components/schemas/Problem" }),
            name,
        );
        let status = answer["statusCode"].as_str().expect("a status");
        assert_eq!(problem["status"].to_string(), status, "{name}");
        let code = problem["code"].as_str().expect("a code");
        assert_eq!(
            problem["type"],
            format!("urn:problem-type:vestibule:{code}"),
            "{name}"
        );

        let header = |name: &str| &answer["responseParameters"][format!("gatewayresponse.header.{name}")];
        assert_eq!(header("Content-Type"), "'application/problem+json'", "{name}");
        assert!(!header("Access-Control-Allow-Origin").is_null(), "{name}");
        let exposed = header("Access-Control-Expose-Headers").as_str().expect("a list");
        assert!(exposed.contains("Retry-After"), "{name}");
        let expects_retry = ["429", "503", "504"].contains(&status) || name == "DEFAULT_5XX";
        assert_eq!(header("Retry-After").is_string(), expects_retry, "{name}");
    }
}
