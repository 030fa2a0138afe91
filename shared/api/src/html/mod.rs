//! The waiting room for browsers that run no JavaScript.
//!
//! The routes answer in JSON. For a client that prefers HTML, two layers around them turn a form into the JSON request
//! of the same route, and the JSON answer into a page. The handlers know of neither, and a client that prefers JSON is
//! served as without the layers.
//!
//! A visitor begins at `GET /queues/{queue}/entries`, which sets the cookie and shows the form to enter. The page of the
//! entry refreshes itself when a client would poll. Forms enter and claim; a `GET` never does.
//!
//! | module | what it does |
//! | --- | --- |
//! | `layers` | the two layers |
//! | `page_request` | recognizes the requests that pages answer |
//! | `form` | accepts a form of an own page only |
//! | `hand_over` | sends an admitted visitor to the shop |
//! | `screen`, `start_screen`, `problem_screen` | decide what a page says for an answer |
//! | `document` | writes a page as HTML |
//! | `message_text` | chooses the text of the operator's message |
//! | `words`, `format` | write sentences, numbers and durations in the visitor's language |
//! | `accept` | reads which representation and which language a browser prefers |

mod accept;
mod document;
mod form;
mod format;
mod hand_over;
mod layers;
mod message_text;
mod page_request;
mod problem_screen;
mod screen;
mod start_screen;
mod words;

pub(crate) use self::{
    accept::{prefers_html, read_language},
    layers::{Representation, accept_form},
    page_request::choose_language,
    problem_screen::translate_problem,
};
