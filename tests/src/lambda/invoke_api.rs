//! Lambda's own API, by which one function invokes another
//! ([`Invoke`](https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html)).

use axum::{
    Router,
    body::Bytes,
    extract::{Path, State},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::json;
use tokio::{net::TcpListener, task::AbortHandle};

use super::{Lambda, Order};

/// An address at which the functions will be invoked.
#[derive(Debug)]
pub struct BoundInvokeApi {
    /// The URL.
    pub url: String,
    listener: TcpListener,
}

/// An API that invokes the functions. Dropping it stops it.
#[derive(Debug)]
pub struct RunningInvokeApi(AbortHandle);

impl Drop for RunningInvokeApi {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl BoundInvokeApi {
    /// Chooses a free port. The functions learn the address before they are defined.
    pub async fn bind() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        Self {
            url: format!("http://{address}"),
            listener,
        }
    }

    /// Invokes these functions from now on.
    pub fn serve(self, lambda: Lambda) -> RunningInvokeApi {
        let router = Router::new()
            .route("/2015-03-31/functions/{name}/invocations", post(invoke))
            .with_state(lambda);
        let server = tokio::spawn(async move { axum::serve(self.listener, router).await });
        RunningInvokeApi(server.abort_handle())
    }
}

async fn invoke(State(lambda): State<Lambda>, Path(name): Path<String>, payload: Bytes) -> Response {
    let order = Order {
        payload,
        ..Order::default()
    };
    match lambda.invoke_with(&name, order).await {
        Ok(answer) => answer.to_string().into_response(),
        Err(failure) => {
            let body = json!({ "errorMessage": format!("{failure:?}") }).to_string();
            ([("x-amz-function-error", "Unhandled")], body).into_response()
        }
    }
}
