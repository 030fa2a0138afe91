//! All classes of mutants.

use rand::rngs::StdRng;
use vestibule_tests::api::ApiRequest;

use super::{altered, scene::Scene, signed, tickets, tokens};

/// How a mutant of a class is made.
pub(crate) enum Forge {
    /// A pass, which is shown to the routes and to a verifier with the published keys.
    Pass {
        forge: fn(&Scene, &mut StdRng) -> String,
        /// Whether the deployment signed the pass for this queue. Without asking the queue, a verifier cannot know that it is
        /// of another visitor or visit.
        is_genuine_offline: bool,
    },
    /// A request with a token.
    Request(fn(&Scene, &mut StdRng) -> ApiRequest),
}

/// A class of mutants.
pub(crate) struct Class {
    pub name: &'static str,
    pub forge: Forge,
}

const fn forged(name: &'static str, forge: fn(&Scene, &mut StdRng) -> String) -> Class {
    Class {
        name,
        forge: Forge::Pass {
            forge,
            is_genuine_offline: false,
        },
    }
}

const fn genuine(name: &'static str, forge: fn(&Scene, &mut StdRng) -> String) -> Class {
    Class {
        name,
        forge: Forge::Pass {
            forge,
            is_genuine_offline: true,
        },
    }
}

const fn request(name: &'static str, forge: fn(&Scene, &mut StdRng) -> ApiRequest) -> Class {
    Class {
        name,
        forge: Forge::Request(forge),
    }
}

pub(crate) const CLASSES: [Class; 47] = [
    forged(
        "foreign key, one claim changed",
        signed::foreign_key_with_one_claim_changed,
    ),
    forged("foreign key", signed::foreign_key),
    forged("foreign key in the header", signed::embedded_key),
    forged("HMAC with the public key", signed::public_key_as_secret),
    forged("own key, other type", signed::other_type),
    forged("own key, other key id", signed::other_key_id),
    forged("own key, other queue", signed::other_queue),
    genuine("own key, other entry", signed::other_entry),
    genuine("own key, other visit", signed::other_visit),
    forged("own key, earlier epoch", signed::earlier_epoch),
    forged("own key, other issuer", signed::other_issuer),
    forged("own key, incomplete claims", signed::incomplete_claims),
    forged("own key, duplicate names", signed::duplicate_names),
    forged("very long", signed::very_long),
    forged("algorithm none", altered::no_algorithm),
    forged("other algorithm", altered::other_algorithm),
    forged("bits of the header flipped", altered::flipped_header),
    forged("bits of the claims flipped", altered::flipped_claims),
    forged("bits of the signature flipped", altered::flipped_signature),
    forged("one character changed", altered::changed_character),
    forged("signature of another length", altered::other_signature_length),
    forged("the second signature", altered::other_signature),
    forged("degenerate signature", altered::degenerate_signature),
    forged("segments of several passes", altered::spliced),
    forged("segments missing or added", altered::other_segments),
    forged("whitespace", altered::whitespace),
    forged("other base64", altered::other_base64),
    forged("garbage", altered::garbage),
    request("token with flipped bits", tokens::flipped_token),
    request("token of the other kind", tokens::other_kind),
    request("token of another visitor", tokens::foreign_token),
    request("visitor id with flipped bits", tokens::flipped_visitor),
    request("token of another queue", tokens::token_of_other_queue),
    request("token alone", tokens::no_visitor),
    request("malformed token", tokens::malformed_token),
    request("pass of another visitor", tokens::pass_of_another_visitor),
    request(
        "pass and token of different visitors",
        tokens::pass_at_another_token,
    ),
    request("ticket by a foreign key", tickets::foreign_key),
    request(
        "ticket with HMAC by the public key",
        tickets::public_key_as_secret,
    ),
    request("ticket without an algorithm", tickets::no_algorithm),
    request("ticket of another queue", tickets::other_queue),
    request("ticket that has expired", tickets::expired),
    request("ticket with flipped bits", tickets::flipped),
    request("ticket with the claims of another", tickets::spliced),
    request("ticket with claims missing", tickets::incomplete),
    request("secret with flipped bits", tickets::flipped_secret),
    request("secret of another entry, queue or reset", tickets::foreign_secret),
];
