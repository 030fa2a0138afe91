//! The steps of a call around the real operation.

use std::time::Duration;

use tokio::time::sleep;

use super::Faults;
use crate::fault::{Effect, Fault};

impl Faults {
    /// Does what happens before the real operation. Fails if the operation fails instead.
    pub(crate) async fn begin(&self, name: &str, queue: Option<&str>) -> Result<Call, Fault> {
        let (gate, delay) = self.operation(name, |operation| {
            operation.calls += 1;
            operation.running += 1;
            operation.running_max = operation.running_max.max(operation.running);
            let of_queue = queue.map(|queue| {
                *operation.queue_calls.entry(queue.to_owned()).or_default() += 1;
                operation.queue_delays.get(queue).copied().unwrap_or_default()
            });
            (
                operation.gate_before.clone(),
                operation.delay + of_queue.unwrap_or_default(),
            )
        });
        // From here on the call counts as running until it is dropped.
        let mut call = Call {
            faults: self.clone(),
            name: name.to_owned(),
            loses_answer: false,
        };
        gate.pass().await;
        if !delay.is_zero() {
            sleep(delay).await;
        }
        match self.draw_effect() {
            Some(Effect::Fails(fault)) => return Err(fault),
            Some(Effect::Stalls(least_ms, most_ms)) => {
                sleep(Duration::from_millis(rand::random_range(least_ms..=most_ms))).await;
            }
            Some(Effect::LosesAnswer) => call.loses_answer = true,
            None => {}
        }
        let fault = self.operation(name, |operation| {
            if std::mem::take(&mut operation.fails_once) {
                return Some(Fault::Unavailable);
            }
            let of_queue = queue.and_then(|queue| operation.queue_faults.get(queue));
            of_queue.copied().or(operation.fault)
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        let mut state = self.state();
        match state.all {
            Some(fault) => {
                state.failed_calls += 1;
                Err(fault)
            }
            None => Ok(call),
        }
    }

    fn draw_effect(&self) -> Option<Effect> {
        let struck = self.state().random;
        let struck = struck.filter(|fault| rand::random_range(0..100) < fault.percent);
        struck.map(|fault| fault.effect)
    }
}

/// A call that is running.
pub(crate) struct Call {
    faults: Faults,
    name: String,
    loses_answer: bool,
}

impl Call {
    /// Waits at the gate after the operation. Fails if the answer is lost.
    pub(crate) async fn end(self) -> Result<(), Fault> {
        let gate = self.faults.gate_after(&self.name);
        gate.pass().await;
        if self.loses_answer {
            return Err(Fault::Unavailable);
        }
        Ok(())
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.faults
            .operation(&self.name, |operation| operation.running -= 1);
    }
}
