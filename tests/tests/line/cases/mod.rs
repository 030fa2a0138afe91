//! The cases of each topic, and how each becomes a test.

#[macro_use]
mod durability;
#[macro_use]
mod queues;
#[macro_use]
mod visitors;

/// Turns each case into a test on one implementation of the line.
macro_rules! tests_of_cases {
    ($backend:ident $($topic:ident { $($case:ident)* })*) => {
        $($(
            #[tokio::test]
            async fn $case() {
                super::$topic::$case(Subject::new(Backend::$backend).await).await;
            }
        )*)*
    };
}

/// The tests of all cases on one implementation of the line, as a module of this name.
macro_rules! tests_on_line {
    ($name:ident $backend:ident) => {
        mod $name {
            use vestibule_tests::lines::{Backend, Subject};

            visitor_cases!($backend);
            queue_cases!($backend);
            durability_cases!($backend);
        }
    };
}
