//! `make preflight` against an account in which one thing after the other is wrong. The account is a small server with the
//! calls of AWS that the preflight sends. Its admin function is the real one, on a Redis of the test's own.

mod account_faults;
mod fake_account;
mod fake_functions;
mod line_faults;
mod printed;
mod scene;
mod server_faults;
mod starts;
