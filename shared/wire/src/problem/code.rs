//! The declaration of every problem code. The HTTP API, the commands of operators and the API's document take their
//! problems from it.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// Declares the enum [`Code`] from one list. An entry of the list is the doc comment, then
/// `Variant = name, status, title, audience, detail;`. The detail is the sentence of most problems with the code; it is left
/// out if each one has its own.
macro_rules! declare_codes {
    ($(
        $(#[doc = $meaning:literal])+
        $variant:ident = $name:literal, $status:literal, $title:literal, $audience:ident $(, $detail:literal)?;
    )+) => {
        /// What went wrong. Clients may rely on a code, so its meaning never changes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[doc = $meaning])+ $variant,)+
        }

        impl Code {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            const fn declaration(self) -> Declaration {
                match self {
                    $(Self::$variant => Declaration {
                        name: $name,
                        status: $status,
                        title: $title,
                        audience: Audience::$audience,
                        detail: concat!($($detail)?),
                    },)+
                }
            }
        }
    };
}

struct Declaration {
    name: &'static str,
    status: u16,
    title: &'static str,
    audience: Audience,
    detail: &'static str,
}

/// Who gets problems with a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Callers of the HTTP API.
    Api,
    /// Operators who give commands.
    Operators,
    /// Both.
    Both,
    /// Callers of an API that the authorizer protects.
    Authorizer,
    /// Operators, from the console itself. It answers with some codes of the API, too.
    Console,
    /// Callers of the HTTP API, from API Gateway: see the gateway responses in `infra/openapi.yaml`.
    Gateway,
}

impl Code {
    /// The name that a problem shows.
    pub const fn name(self) -> &'static str {
        self.declaration().name
    }

    /// The HTTP status. The problem of a command shows the status of the same meaning.
    pub const fn status(self) -> u16 {
        self.declaration().status
    }

    /// The title that a problem shows.
    pub const fn title(self) -> &'static str {
        self.declaration().title
    }

    /// The sentence of most problems with this code. Empty if each one has its own.
    pub const fn detail(self) -> &'static str {
        self.declaration().detail
    }

    /// The `type` that a problem shows: a URN that ends with the name.
    pub fn urn(self) -> String {
        format!("urn:problem-type:vestibule:{}", self.name())
    }

    /// Who gets problems with this code.
    pub const fn audience(self) -> Audience {
        self.declaration().audience
    }

    /// The codes that callers of the HTTP API get.
    pub fn of_callers() -> impl Iterator<Item = Self> {
        let callers = [Audience::Api, Audience::Both, Audience::Gateway];
        let all = Self::ALL.iter().copied();
        all.filter(move |code| callers.contains(&code.audience()))
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        let code = Self::ALL.iter().copied().find(|code| code.name() == name);
        code.ok_or_else(|| D::Error::custom(format!("{name} is no code of a problem")))
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

declare_codes! {
    /// A part of the request is invalid; `field` names it.
    InvalidField = "invalid-field", 400, "The request is invalid", Api;
    /// The body exceeds the size limit.
    BodyTooLarge = "body-too-large", 413, "The request body is too large", Api;
    /// The query and the headers are larger than a client needs.
    HeadersTooLarge = "headers-too-large", 431, "The query and the headers are too large", Api;
    /// The content type of the body is not JSON.
    UnsupportedMediaType = "unsupported-media-type", 415, "The request body must be JSON", Api,
        "send Content-Type: application/json";
    /// The API has no such route.
    UnknownRoute = "unknown-route", 404, "The API has no such route", Api,
        "the API has no such route; the documentation lists all routes";
    /// The route does not accept this method.
    MethodNotAllowed = "method-not-allowed", 405, "The route does not accept this method", Api,
        "the Allow header lists the methods that this route accepts";
    /// The token belongs to another visitor.
    TokenOwnerMismatch = "token-owner-mismatch", 403, "The token belongs to another visitor", Api,
        "only the visitor who entered with this token may use it";
    /// Only the visitor may do this, and the request does not prove who the visitor is.
    VisitorRequired = "visitor-required", 403, "Only the visitor may do this", Api,
        "send X-Visitor-Id or what the authorizer requires; a token alone only allows status requests";
    /// The routes are behind an authorizer, and it did not name the visitor.
    IdentityMissing = "identity-missing", 403, "The authorizer did not name the visitor", Api,
        "the authorizer must return the configured claim as a text that is not empty";
    /// A visit in this queue begins with a ticket only, or a ticket alone can name the visitor.
    TicketRequired = "ticket-required", 403, "A ticket is required to enter", Api;
    /// The ticket is not valid for this queue at this time; `reason` says why.
    InvalidTicket = "invalid-ticket", 403, "The ticket is not valid", Api;
    /// Only the protected service may do this.
    ServiceOnly = "service-only", 403, "Only the protected service may do this", Api,
        "the gateway did not authenticate the caller as the protected service";
    /// The request names a host for which this server does not answer.
    ForeignHost = "foreign-host", 403, "The request names a host that this server does not serve", Api;
    /// The request lacks the key of the console.
    ConsoleKey = "console-key", 403, "The console needs its key", Console;
    /// A page of another origin sent a form, or a write that needs no preflight.
    ForeignOrigin = "foreign-origin", 403, "The request comes from a page of another site", Api,
        "the header Origin names a page of another site; a page whose origin the API allows sends Content-Type: application/json";
    /// The request to enter did not come through the distribution, as it has to in this deployment.
    NotThroughDistribution = "not-through-distribution", 403, "Visitors enter through the distribution only", Api,
        "visitors enter by the address of the waiting page (the output PageUrl), and not at the address of the API";
    /// A form comes without the visitor cookie.
    CookieRequired = "cookie-required", 403, "The form needs the visitor cookie", Api,
        "a form must come with the visitor cookie, which GET on the entries of the queue sets";
    /// An operator has blocked the visitor, or the network from which the visitor enters.
    Blocked = "blocked", 403, "The visitor may not enter this queue", Api,
        "the operator of the queue does not let this visitor, or visitors of this network, enter";
    /// The pass is not valid for this entry at this time.
    InvalidPass = "invalid-pass", 403, "The pass is not valid", Api;
    /// The visitor called the protected API more often than the limit of the authorizer allows.
    TooManyCalls = "too-many-calls", 429, "Too many calls", Authorizer,
        "the visitor called the API too often";
    /// Too many requests named queues or entries that do not exist. The gateway refuses too many requests with the same
    /// code.
    TooManyRequests = "too-many-requests", 429, "Too many requests", Api,
        "this visitor sends too many requests; wait for retry_after_ms between them";
    /// The entry has not been let in yet.
    NotYourTurn = "not-your-turn", 409, "The entry has not been let in yet", Api;
    /// The queue accepts no new entries and still serves those in line.
    QueueDraining = "queue-draining", 409, "The queue accepts no new entries", Api,
        "the queue still serves the visitors who are already in line";
    /// The queue is closed: it accepts no entries and promotes none.
    QueueClosed = "queue-closed", 409, "The queue is closed", Api,
        "visitors who are already in line keep their places";
    /// The queue is finished: it accepts no entries, and every waiting entry ends.
    QueueFinished = "queue-finished", 410, "The queue is over", Api,
        "the queue is over, and every place in line has ended";
    /// The visit ended because the visitor finished.
    Completed = "completed", 410, "The visit is finished", Api,
        "the visitor may enter again";
    /// The visit ended because the visitor left.
    Left = "left", 410, "The visitor left the queue", Api,
        "the visitor may enter again";
    /// The visit ended because an operator removed the entry.
    Evicted = "evicted", 410, "The entry was removed from the queue", Api,
        "the visitor may enter again";
    /// The visit ended because it timed out.
    Expired = "expired", 410, "The visit timed out", Api,
        "the visitor may enter again";
    /// The named visit has ended, and another one has begun.
    OtherVisit = "other-visit", 410, "The named visit has ended", Api,
        "the named visit has ended; the visitor has entered again since";

    /// The queue was deleted; `min_epoch` is the first epoch whose passes may be valid.
    QueueDeleted = "queue-deleted", 410, "The queue no longer exists", Both,
        "the queue no longer exists, and its places, tokens and passes are void";
    /// There is no queue with this id.
    UnknownQueue = "unknown-queue", 404, "The queue does not exist", Both,
        "there is no queue with this id";
    /// The queue never issued this token, or the record of the entry has expired.
    UnknownEntry = "unknown-entry", 404, "The entry does not exist", Both,
        "the queue never issued this token, or the record of the entry has expired";
    /// The line does not answer.
    LineUnavailable = "line-unavailable", 503, "The line is unavailable", Both,
        "no place in line is lost; try again in a moment";
    /// The backup does not answer, and the request or the command cannot be carried out without it.
    BackupUnavailable = "backup-unavailable", 503, "The backup is unavailable", Both,
        "no place in line is lost; try again in a moment";
    /// The line lost something that the backup still has, and Vestibule is restoring it.
    Recovering = "recovering", 503, "The queue is being restored", Both,
        "no place in line is lost; try again in a moment";
    /// The journal is full, so the line accepts no further changes until the backup catches up.
    BackupBehind = "backup-behind", 503, "Too many changes wait for the backup", Both,
        "no place in line is lost; try again in a moment";
    /// As many visitors wait as the queue allows.
    QueueFull = "queue-full", 503, "The queue is full for now", Api,
        "the queue is full for now; it takes new visitors again when others have been let in or have left";
    /// The root key of the deployment is another one than that of the queue.
    OtherRootKey = "other-root-key", 503, "The deployment has another root key than the queue", Both,
        "no place in line is lost; try again in a moment";
    /// A fault of Vestibule, or invalid data in the line or the backup.
    Internal = "internal", 500, "Vestibule could not answer the request", Both,
        "Vestibule could not answer the request; the logs have the cause under the request id";

    /// A field of the command is unknown, missing or invalid; `field` names it.
    InvalidCommand = "invalid-command", 400, "The command is not valid", Operators;
    /// A setting in the command is unknown or invalid; `field` names it.
    InvalidSetting = "invalid-setting", 400, "A setting is not valid", Operators;
    /// A setting in the table is unknown or invalid; `field` names it.
    InvalidStoredSetting = "invalid-stored-setting", 409, "A stored setting is not valid", Operators;
    /// A queue with this id exists and has other settings.
    QueueExists = "queue-exists", 409, "The queue already exists", Operators,
        "a queue with this id exists and has other settings; change them with the command update";
    /// The command must repeat the queue's id and its epoch; `expected` has both.
    ConfirmationNeeded = "confirmation-needed", 409, "The command must be confirmed", Operators;
    /// The caller invoked the function by an alias whose right is too little for the operation; `needed` names the alias.
    RightNeeded = "right-needed", 403, "The operation needs another right", Operators;
    /// The entry is ready or active, so it has no place in line.
    NotWaiting = "not-waiting", 409, "The entry does not wait", Operators;
    /// The line did not promote the entry; `limited_by` says why.
    NotPromoted = "not-promoted", 409, "The entry was not promoted", Operators;
    /// Other changes of the settings kept interfering.
    SettingsChanged = "settings-changed", 409, "The settings changed during the command", Operators,
        "other changes of the settings kept interfering; read the settings with describe, then try again";
    /// The queue was restored or reset during the command.
    EpochChanged = "epoch-changed", 409, "The epoch changed during the command", Operators,
        "the queue was restored or reset meanwhile; read the new epoch with describe, then try again";
    /// The new key of the last rotation does not sign yet, or another command rotated the keys.
    RotationUnderWay = "rotation-under-way", 409, "Another rotation of the keys is under way", Operators;
    /// The store of the keys does not answer, or refuses the call.
    KeysUnavailable = "keys-unavailable", 503, "The keys cannot be read or written", Operators;
    /// The signing key is a setting of the processes, so no command can replace it.
    KeyFixed = "key-fixed", 409, "The signing key is not in a store", Operators;
    /// The admin function did not answer the console.
    AdminUnreachable = "admin-unreachable", 502, "The admin function did not answer", Console;
    /// The queue was reset during the check.
    QueueReset = "queue-reset", 409, "The queue was reset", Operators;
    /// The stored queue has an earlier epoch than the line.
    EpochBehind = "epoch-behind", 409, "The stored queue has an earlier epoch than the line", Operators;

    /// The gateway refused the request, for a reason of its own.
    Refused = "refused", 400, "API Gateway refused the request", Gateway,
        "the route does not accept this request";
    /// The authorizer did not accept the visitor.
    Unauthorized = "unauthorized", 401, "The visitor must log in", Gateway,
        "send the Authorization header that the authorizer requires";
    /// A policy, or the authorizer, denies the request.
    AccessDenied = "access-denied", 403, "The caller is not allowed to send this request", Gateway,
        "a policy of the caller, or the authorizer, denies it";
    /// The request lacks a signature, or the API has no such route.
    Unsigned = "unsigned", 403, "The API has no such route, or the route requires a signature", Gateway,
        "sign the request, or look up the route in the documentation of the API";
    /// The signature or its credentials are not valid.
    SignatureRefused = "signature-refused", 403, "The signature is not valid", Gateway;
    /// The API key is not one of this deployment.
    ApiKeyRefused = "api-key-refused", 403, "The API key is not valid", Gateway,
        "send an API key of this deployment in the header x-api-key";
    /// The usage plan of the API key allows no more requests for now.
    QuotaExceeded = "quota-exceeded", 429, "The API key has used its quota", Gateway,
        "the usage plan of the key says when it gets a new quota";
    /// The function did not answer.
    FunctionUnavailable = "function-unavailable", 503, "The function is unavailable", Gateway,
        "no place in line is lost; try again in a moment";
    /// The function took too long.
    Timeout = "timeout", 504, "The answer took too long", Gateway,
        "no place in line is lost; try again in a moment";
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_code_has_a_unique_name_and_an_error_status() {
        let names: HashSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            assert!((400..600).contains(&code.status()), "{code:?}");
            let (title, lacks_article) = (code.title(), code.title().starts_with("Queue "));
            let is_capitalized = title.starts_with(|first: char| first.is_uppercase());
            assert!(
                is_capitalized && !lacks_article && !title.ends_with('.'),
                "{title}"
            );
            let is_kebab_case = code.name().bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
            assert!(is_kebab_case, "{code:?}");
        }
    }
}
