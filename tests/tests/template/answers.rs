//! Answers are what the document says: the functions' own, and the gateway's.

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_tests::{
    edge::{Answer, Ask, EdgeUnderTest, QUEUE, entry},
    template::read_api_document,
};

const ENTRY: &str = "/queues/{queue}/entries/{token}";

#[tokio::test]
async fn a_visit_answers_as_documented() {
    let document = read_api_document();
    let edge =
        EdgeUnderTest::open(json!({ "capacity": 1, "batch": 1, "interval_seconds": 1, "message": "hello" }))
            .await;
    let is = |method, path, answer: &Answer| matches(&document, method, path, answer);
    let claim_path = format!("{ENTRY}/claim");
    let validate_path = format!("{ENTRY}/validate");
    let complete_path = format!("{ENTRY}/complete");
    let extend_path = format!("{ENTRY}/extend");

    // Drawn by the server: the answer names the visitor.
    let first = edge.send(Ask::enter().json(&json!({}))).await;
    is("post", "/queues/{queue}/entries", first.is(201));
    let (visitor, token) = (
        first.read_text("visitor").to_owned(),
        first.read_text("token").to_owned(),
    );
    let at = |verb: &str| format!("{}{verb}", entry(&token));
    let again = edge.send(Ask::enter().visitor(&visitor)).await;
    is("post", "/queues/{queue}/entries", again.is(200));

    let id = Uuid::new_v4().to_string();
    let second = edge.send(Ask::enter().visitor(&id)).await;
    is("post", "/queues/{queue}/entries", second.is(201));
    let waiting = entry(second.read_text("token"));
    is("get", ENTRY, edge.send(Ask::get(&waiting)).await.is(200));
    let early = edge
        .send(Ask::post(format!("{waiting}/claim")).visitor(&id))
        .await;
    is("post", &claim_path, early.is(409));
    let stolen = edge.send(Ask::get(at("")).visitor(&id)).await;
    is("get", ENTRY, stolen.is(403));
    let nonsense = edge.send(Ask::get(format!("{waiting}?wait=x"))).await;
    is("get", ENTRY, nonsense.is(400));

    is(
        "get",
        "/queues/{queue}",
        edge.send(Ask::get("/queues/TIMEDEAL:123")).await.is(200),
    );
    is(
        "get",
        "/queues/{queue}",
        edge.send(Ask::get("/queues/other")).await.is(404),
    );
    is(
        "get",
        "/.well-known/jwks.json",
        edge.send(Ask::get("/.well-known/jwks.json")).await.is(200),
    );

    let valid = edge
        .send(Ask::post(at("/validate")).json(&json!({ "visitor": visitor })))
        .await;
    is("post", &validate_path, valid.is(200));
    let no_json = edge.send(Ask::post(at("/validate")).raw("text/plain", "x")).await;
    is("post", &validate_path, no_json.is(415));
    let long = "x".repeat(9_000);
    let too_large = edge
        .send(Ask::post(at("/validate")).json(&json!({ "visitor": long })))
        .await;
    is("post", &validate_path, too_large.is(413));
    let more = edge
        .send(
            Ask::post(at("/extend"))
                .visitor(&visitor)
                .json(&json!({ "seconds": 30 })),
        )
        .await;
    is("post", &extend_path, more.is(200));
    is(
        "post",
        &complete_path,
        edge.send(Ask::post(at("/complete"))).await.is(204),
    );
    is("get", ENTRY, edge.send(Ask::get(at(""))).await.is(410));

    edge.pass_seconds(5);
    edge.promote().await;
    let ready = edge.send(Ask::get(&waiting)).await;
    assert_eq!(ready.read_text("state"), "ready");
    is("get", ENTRY, &ready);
    let claimed = edge
        .send(Ask::post(format!("{waiting}/claim")).visitor(&id))
        .await;
    is("post", &claim_path, claimed.is(200));
    let left = edge.send(Ask::delete(&waiting).visitor(&id)).await;
    is("delete", ENTRY, left.is(204));
}

#[tokio::test]
async fn bodies_are_taken_as_documented() {
    let document = read_api_document();
    let edge = EdgeUnderTest::open(json!({})).await;
    let entered = edge.send(Ask::enter()).await;
    let (visitor, token) = (entered.read_text("visitor"), entered.read_text("token"));
    let entry = "/queues/{queue}/entries/{token}";
    for (path, mut body, done) in [
        ("/queues/{queue}/load".to_owned(), json!({ "tps": 1 }), 204),
        (format!("{entry}/extend"), json!({}), 200),
        (format!("{entry}/validate"), json!({ "visitor": visitor }), 200),
        (format!("{entry}/complete"), json!({}), 204),
    ] {
        let operation = &document["paths"][&path]["post"];
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let at = path.replace("{queue}", QUEUE).replace("{token}", token);
        let send = |body: &Value| edge.send(Ask::post(&at).visitor(visitor).json(body));
        for (name, field) in resolved(&document, schema)["properties"]
            .as_object()
            .expect("fields")
        {
            let Some(most) = field["maximum"].as_u64() else {
                continue;
            };
            let before = body.clone();
            body[name] = json!(most + 1);
            send(&body).await.refuses(name);
            body = before;
            // A visit that is not this one is taken as well; it is tried where nothing depends on it.
            if name != "visit" {
                body[name] = json!(most);
            }
        }
        body["other"] = json!(1);
        send(&body).await.refuses("other");
        body.as_object_mut().expect("an object").remove("other");
        let answer = send(&body).await;
        matches(&document, "post", &path, answer.is(done));
    }
}

#[tokio::test]
async fn an_outage_answers_as_documented() {
    let edge = EdgeUnderTest::without_backup(json!({})).await;
    let nowhere = entry("1777853d-5d52-8cab-a8ce-928d525f6d31");
    matches(
        &read_api_document(),
        "get",
        ENTRY,
        edge.send(Ask::get(nowhere)).await.is(503),
    );
}

#[test]
fn the_gateway_answers_in_problems_that_pages_can_read() {
    let document = read_api_document();
    let answers = document["x-amazon-apigateway-gateway-responses"]
        .as_object()
        .expect("answers");
    for (name, answer) in answers {
        let text = answer["responseTemplates"]["application/json"]
            .as_str()
            .expect("a template");
        let problem: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        fits(
            &document,
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
        let waiting_helps = ["429", "503", "504"].contains(&status) || name == "DEFAULT_5XX";
        assert_eq!(header("Retry-After").is_string(), waiting_helps, "{name}");
    }
}

/// Holds an answer to what the document says of its operation and status.
fn matches(document: &Value, method: &str, path: &str, answer: &Answer) {
    let status = answer.status.as_u16().to_string();
    let place = format!("{method} {path} {status}");
    let listed = &document["paths"][path][method]["responses"][&status];
    assert!(listed.is_object(), "{place} is not in the document: {answer:?}");
    let listed = resolved(document, listed);
    for name in ["location", "retry-after", "set-cookie"] {
        let headers = listed["headers"].as_object();
        let said = headers.is_some_and(|headers| headers.keys().any(|key| key.eq_ignore_ascii_case(name)));
        assert!(
            said || !answer.headers.contains_key(name),
            "{place}: {name} is not in the document"
        );
    }
    let Some(content) = listed["content"].as_object() else {
        assert!(answer.body.is_null(), "{place} has no body: {answer:?}");
        return;
    };
    let kind = answer.header("content-type");
    let content = content
        .get(kind)
        .unwrap_or_else(|| panic!("{place}: {kind} is not in the document"));
    fits(document, &answer.body, &content["schema"], &place);
}

fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        None => value,
        Some(reference) => {
            let pointer = reference.strip_prefix('#').expect("a place in the document");
            document
                .pointer(pointer)
                .unwrap_or_else(|| panic!("nothing at {reference}"))
        }
    }
}

/// The little of JSON Schema that the document is written in; a field that it does not name does not fit.
fn fits(document: &Value, value: &Value, schema: &Value, place: &str) {
    let schema = resolved(document, schema);
    if let Some(values) = schema["enum"].as_array() {
        assert!(values.contains(value), "{place}: {value} is none of {values:?}");
    }
    let is_right = match schema["type"].as_str().expect("a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        other => panic!("{place}: no such type: {other}"),
    };
    assert!(
        is_right || (value.is_null() && schema["nullable"] == true),
        "{place}: {value} against {schema}"
    );
    for item in value.as_array().into_iter().flatten() {
        fits(document, item, &schema["items"], place);
    }
    if let Some(fields) = value.as_object() {
        for (name, field) in fields {
            let known = &schema["properties"][name];
            assert!(known.is_object(), "{place}: {name} is not in the document");
            fits(document, field, known, &format!("{place} {name}"));
        }
        for name in schema["required"].as_array().into_iter().flatten() {
            assert!(
                value.get(name.as_str().expect("a name")).is_some(),
                "{place}: {name} is missing: {value}"
            );
        }
    }
}
