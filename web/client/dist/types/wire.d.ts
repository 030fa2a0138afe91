export interface components {
    schemas: {
        /** @description What a load report did. */
        readonly LoadAnswer: {
            /** @description Whether reports move the pace of the queue (`adaptive`). If not, only the statistics show them. */
            readonly acts: boolean;
        };
        /** @description A visitor's place. A field that does not apply is absent. */
        readonly Entry: {
            /** @description The id of the queue. */
            readonly queue: string;
            /** @description The name of the entry. It is no secret. */
            readonly token: string;
            /** @description The number of the visit. It never repeats in the queue, and a later visit has a higher one. */
            readonly visit: number;
            /**
             * @description Whether the entry is in line, may be claimed, or is let in.
             * @enum {string}
             */
            readonly state: "waiting" | "ready" | "active";
            readonly queue_state: components["schemas"]["QueueState"];
            /** @description A message from the operator: the text for visitors whose languages are not among `messages`. */
            readonly message?: string;
            readonly messages?: components["schemas"]["Messages"];
            /** @description For a waiting entry: its order in line. The public document says up to which place visitors are called. */
            readonly place?: number;
            /** @description For a waiting entry: its lane, a key of `lanes` in the public document. */
            readonly lane?: number;
            /** @description The position in the lane of the entry, 1 for its head. Where several lanes have entries, `ahead` tells when the turn comes. */
            readonly position?: number;
            /** @description For a waiting entry: how many turns come before its own, those of other lanes included. */
            readonly ahead?: number;
            /** @description For a waiting entry: how many entries have their turns after it. */
            readonly behind?: number;
            /** @description True if `ahead` is the expected number, because lanes share the turns (`lane_share`). Otherwise absent. */
            readonly ahead_is_expected?: boolean;
            /** @description With `look_after_ms`: how many entries of the lane had gone ahead when the position was read. The position falls by what the public document counts since. */
            readonly gone_ahead?: number;
            /** @description For a waiting entry that is not called: read the public document instead of this entry until it calls the place, or until this time has passed. A client that ignores it keeps to `retry_after_ms`. */
            readonly look_after_ms?: number;
            /** @description The number of waiting entries. */
            readonly waiting?: number;
            readonly estimated_wait_seconds?: components["schemas"]["WaitEstimate"];
            /** @description When to send the next request. Absent if `proven` is false. */
            readonly retry_after_ms?: number;
            /** @description True for a waiting entry of a queue whose visitors leave by closing the page. A client tells of it by `closed=true`, and asks for the state again 5 s after a page was loaded with a place. */
            readonly leave_on_close?: boolean;
            /** @description When the visitor entered. */
            readonly joined_at_ms?: number;
            /** @description When the turn came. */
            readonly promoted_at_ms?: number;
            /** @description For a ready entry: the deadline of the claim. */
            readonly claim_by_ms?: number;
            /** @description The same as a duration, for clients that do not trust their clocks. */
            readonly claim_in_ms?: number;
            /** @description For an active entry: when the session ends. */
            readonly expires_at_ms?: number;
            /** @description The same as a duration. */
            readonly expires_in_ms?: number;
            /** @description For an active entry, if the request proves who the visitor is: a JWT, ES256. */
            readonly pass?: string;
            /** @description With a pass: the address to which the visitor goes, in which {pass} and {return} are to be replaced. Without {pass}, add the pass as a fragment, #pass=…. */
            readonly target_url?: string;
            /** @description Whether the backup has the change that this request made, so that the change survives the loss of the line. Absent if the request changed nothing. */
            readonly durable?: boolean;
            /** @description Whether the line is unavailable. Then the position is unknown, and no request can change the entry. */
            readonly degraded: boolean;
            /** @description False if the request presented nothing but the token. Such requests keep no place and take no turn. Otherwise absent. */
            readonly proven?: boolean;
            /** @description The visitor id that the server generated, or the secret of a visitor who entered with a ticket. Keep it. */
            readonly visitor?: string;
        };
        /**
         * @description What a queue does. `scheduled`: The queue has not opened yet: visitors may enter, and no entry is promoted before `opens_at_ms`. `open`: Visitors may enter, and entries are promoted. `paused`: Visitors may enter, and no entry is promoted. `draining`: No new visitor may enter, and entries are promoted. `closed`: No new visitor may enter, and no entry is promoted. `finished`: The queue is over for all who wait, and no visitor may enter. A visitor whose turn has come may still claim, and sessions go on.
         * @enum {string}
         */
        readonly QueueState: "scheduled" | "open" | "paused" | "draining" | "closed" | "finished";
        /** @description The operator's message by language tag (RFC 5646) in lower case, if there is more than one text. A client takes the first of the visitor's languages, also without its last subtags, and `message` if none is there. */
        readonly Messages: {
            readonly [key: string]: string;
        };
        /** @description An expected wait, as a range: people accept one that turns out to be true, and believe no number that is exact to the second. */
        readonly WaitEstimate: {
            /** @description The lower end, in seconds. */
            readonly low: number;
            /** @description The upper end, in seconds. */
            readonly high: number;
        };
        /** @description The answer about an entry whose page was closed. */
        readonly Closing: {
            /** @description How long the visitor may still send a request, and so keep the place. */
            readonly leaves_in_ms: number;
        };
        /** @description What every reader learns of a queue. */
        readonly PublicDocument: {
            /** @description The id of the queue. */
            readonly queue: string;
            readonly state: components["schemas"]["QueueState"];
            /** @description Rises with each restore. Places stay valid. */
            readonly epoch: number;
            /** @description Rises with each reset, which voids all entries. */
            readonly generation: number;
            /** @description When the document was made. Ignore a copy with a lower `generation`, `epoch` or `now_ms` than one already seen. */
            readonly now_ms: number;
            /** @description The least time until a client reads the document again. */
            readonly refresh_near_ms: number;
            /** @description The longest time until a client reads the document again. */
            readonly refresh_far_ms: number;
            /** @description Over which time clients spread their requests at random after a new `epoch` or `generation`. */
            readonly resync_ms: number;
            /** @description How far each lane has moved, by the number of the lane. */
            readonly lanes: {
                readonly [key: string]: components["schemas"]["Lane"];
            };
            /** @description The number of waiting entries. */
            readonly waiting: number;
            /** @description Whether as many visitors wait as the queue allows. Then a visitor without a place gets 503 `queue-full`. */
            readonly full: boolean;
            /** @description Promotions per second; null before the first ones. */
            readonly rate: number | null;
            /** @description The expected waits at positions spread over the line, in ascending order. Between two positions the wait follows by interpolation. Empty if the line does not move, or if no estimate is possible. A lane with its own counts by that. */
            readonly estimated_waits: readonly components["schemas"]["PositionWait"][];
            /** @description Whether an operator has paused the promotion. */
            readonly paused: boolean;
            /**
             * @description `queue`: visitors line up. `passthrough`: every visitor who enters is let in at once.
             * @enum {string}
             */
            readonly mode: "queue" | "passthrough";
            /**
             * @description Who may enter at `now_ms`.
             * @enum {string}
             */
            readonly entrance: "open" | "draining" | "closed" | "finished";
            readonly finish_reason?: components["schemas"]["FinishReason"];
            /** @description While the state is `scheduled`: when the queue opens. The document has no lanes and no estimates then. */
            readonly opens_at_ms?: number;
            /** @description While the state is `scheduled`: over which time clients spread entering at random. */
            readonly enter_spread_ms?: number;
            /** @description While the state is `scheduled`, if the queue draws: the SHA-256 of the seed. */
            readonly draw_commitment?: string;
            /** @description After the opening of a queue that draws: the seed. The lowest 49 bits of the place of an entry that came before are the first 49 bits of HMAC-SHA256(seed, the 16 bytes of the token). */
            readonly draw_seed?: string;
            /** @description From this moment on no new visitor enters. Absent if none is set. */
            readonly closes_at_ms?: number;
            /** @description From this moment on the queue is finished. Absent if none is set. */
            readonly ends_at_ms?: number;
            /**
             * @description Why the line promotes no entry now, although some wait: `capacity`, the protected service is full; `presence`, the next visitors have been called and have not polled yet; `service`, the protected service is not healthy or has not reported its load; `switch`, the queue is paused, closed, finished or has not opened yet; `journal`, the backup is too far behind; `clock`, the clocks of Redis and its callers disagree.
             * @enum {string}
             */
            readonly limited_by?: "capacity" | "presence" | "service" | "switch" | "journal" | "clock";
            /** @description Passes with a lower epoch are void. For services that check passes offline. */
            readonly min_epoch: number;
            /** @description The ids (`kid`) of signing keys that leaked. Passes of theirs are void. For services that check passes offline. Absent if there are none. */
            readonly void_keys?: readonly string[];
            /** @description A message from the operator: the text for visitors whose languages are not among `messages`. */
            readonly message?: string;
            readonly messages?: components["schemas"]["Messages"];
        };
        /** @description How far a lane has moved. */
        readonly Lane: {
            /** @description The highest place that was promoted. */
            readonly promoted_through: number;
            /** @description A visitor whose place is not above this one is called: the client polls the entry. */
            readonly check_in_through: number;
            /** @description The highest place that went past the head. */
            readonly passed_through: number;
            /** @description How many entries went past the head, minus those that came back to a place in line. */
            readonly gone_ahead: number;
            /** @description How many entries went past the head per second in the last half minute, promoted or passed over. Null before it was measured. */
            readonly speed: number | null;
            /** @description The expected waits at positions spread over the lane, if other lanes have a part of the promotions. They count then, instead of those of the document. */
            readonly estimated_waits?: readonly components["schemas"]["PositionWait"][];
            /** @description How many turns come before those at positions spread over the lane, if other lanes have turns too. Otherwise it is one less than the position. */
            readonly ahead?: readonly components["schemas"]["PositionAhead"][];
            /** @description True if `ahead` is the expected number, because lanes share the turns. Otherwise absent. */
            readonly ahead_is_expected?: boolean;
        };
        /** @description The expected wait at a position. */
        readonly PositionWait: {
            /** @description The position in the line, or in the lane. */
            readonly position: number;
            /** @description The shortest, in seconds. */
            readonly low: number;
            /** @description The longest, in seconds. */
            readonly high: number;
        };
        /** @description How many turns come before the one at a position. */
        readonly PositionAhead: {
            /** @description The position in the lane. */
            readonly position: number;
            /** @description The number of turns before it. */
            readonly ahead: number;
        };
        /**
         * @description Why a queue is over, as visitors are told. `over`: It is, and visitors learn no more. `sold_out`: Everything is sold. `cancelled`: What they wait for does not take place.
         * @enum {string}
         */
        readonly FinishReason: "over" | "sold_out" | "cancelled";
        /** @description That the visitor may act. */
        readonly ValidateResponse: {
            /** @description True. A visitor who may not act is a problem. */
            readonly valid: boolean;
            /**
             * @description The entry is active.
             * @enum {string}
             */
            readonly state: "active";
            /** @description The number of the visit. */
            readonly visit: number;
            /** @description When the session ends; in a degraded answer, until when such a pass is accepted. */
            readonly expires_at_ms: number;
            /** @description Whether the backup has the change that this request made. Absent if the request changed nothing. */
            readonly durable?: boolean;
            /** @description With `extend`: a new pass. */
            readonly pass?: string;
            /** @description True if Redis is unavailable and the queue's `on_outage` is open: only the pass was checked. Otherwise absent. */
            readonly degraded?: boolean;
        };
        /** @description The keys that verify passes. */
        readonly Jwks: {
            /** @description The key that signs, the one that signs next, and those whose passes still count. */
            readonly keys: readonly components["schemas"]["Jwk"][];
        };
        /** @description A public key on the curve P-256. */
        readonly Jwk: {
            /**
             * @description The key verifies signatures.
             * @enum {string}
             */
            readonly use: "sig";
            /**
             * @description The algorithm of the signatures.
             * @enum {string}
             */
            readonly alg: "ES256";
            /** @description The id of the key, which the header of a pass names. */
            readonly kid: string;
            /**
             * @description The kind of the key.
             * @enum {string}
             */
            readonly kty: "EC";
            /**
             * @description The curve.
             * @enum {string}
             */
            readonly crv: "P-256";
            /** @description The first coordinate of the point, in base64url. */
            readonly x: string;
            /** @description The second coordinate of the point, in base64url. */
            readonly y: string;
        };
        /** @description Problem details (RFC 9457). Rely on code, whose meaning never changes. */
        readonly Problem: {
            /**
             * @description A URN that ends with the code.
             * @example urn:problem-type:vestibule:not-your-turn
             */
            readonly type: string;
            /**
             * @description What the code means, for readers.
             * @example The entry has not been let in yet
             */
            readonly title: string;
            /** @description The HTTP status. That of a command is the status of the same meaning. */
            readonly status: number;
            /**
             * @description What went wrong.
             * @example not-your-turn
             * @enum {string}
             */
            readonly code: "invalid-field" | "body-too-large" | "headers-too-large" | "unsupported-media-type" | "unknown-route" | "method-not-allowed" | "token-owner-mismatch" | "visitor-required" | "identity-missing" | "ticket-required" | "invalid-ticket" | "service-only" | "foreign-host" | "foreign-origin" | "not-through-distribution" | "cookie-required" | "blocked" | "invalid-pass" | "too-many-requests" | "not-your-turn" | "queue-draining" | "queue-closed" | "queue-finished" | "completed" | "left" | "evicted" | "expired" | "other-visit" | "queue-deleted" | "unknown-queue" | "unknown-entry" | "line-unavailable" | "backup-unavailable" | "recovering" | "backup-behind" | "queue-full" | "other-root-key" | "internal" | "refused" | "unauthorized" | "access-denied" | "unsigned" | "signature-refused" | "api-key-refused" | "quota-exceeded" | "function-unavailable" | "timeout";
            /** @description A sentence. What visitors meet has title and detail in the first language of `Accept-Language` that the waiting page speaks, and `Content-Language`; what only programs meet, and what caches keep for all, is in English. */
            readonly detail: string;
            /** @description The invalid part of the request, in a 400. */
            readonly field?: string;
            /**
             * @description Why the ticket is not valid, with the code `invalid-ticket`, or why the visit has `expired`. `malformed`: The ticket is no signed JWT with an object as claims. `unknown-key`: The queue does not have the key that the ticket names. `wrong-algorithm`: The algorithm is another one than that of the key. `bad-signature`: The signature is wrong. `missing-claim`: The ticket lacks a claim. `invalid-claim`: A claim has a value that it cannot have. `wrong-queue`: The ticket is of another queue. `expired`: The ticket has ended. `not-yet-valid`: The ticket does not count yet. `other-visitor`: The request names another visitor than the ticket. `overlong-wait`: The visitor waited longer than the queue allows (`waiting_seconds_max`).
             * @enum {string}
             */
            readonly reason?: "malformed" | "unknown-key" | "wrong-algorithm" | "bad-signature" | "missing-claim" | "invalid-claim" | "wrong-queue" | "expired" | "not-yet-valid" | "other-visitor" | "overlong-wait";
            /**
             * @description The last state, in a 410. `dismissed`: the queue was finished while the visitor waited.
             * @enum {string}
             */
            readonly state?: "completed" | "left" | "expired" | "evicted" | "dismissed";
            /** @description The last visit, in a 410. */
            readonly visit?: number;
            /** @description When it ended, in a 410. */
            readonly ended_at_ms?: number;
            /** @description In a 410 for a missed turn: a visitor who enters again before this time gets the old place back, once. Absent if the place is not kept. */
            readonly grace_until_ms?: number;
            /** @description The same as a duration. */
            readonly grace_in_ms?: number;
            readonly finish_reason?: components["schemas"]["FinishReason"];
            /** @description A message from the operator: the text for visitors whose languages are not among `messages`. */
            readonly message?: string;
            readonly messages?: components["schemas"]["Messages"];
            /** @description With the code `queue-deleted`: passes with a lower epoch are void, which are all of the deleted queue. */
            readonly min_epoch?: number;
            /** @description Identifies the request in the logs. A command has none. */
            readonly request_id: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type LoadAnswer = components['schemas']['LoadAnswer'];
export type Entry = components['schemas']['Entry'];
export type QueueState = components['schemas']['QueueState'];
export type Messages = components['schemas']['Messages'];
export type WaitEstimate = components['schemas']['WaitEstimate'];
export type Closing = components['schemas']['Closing'];
export type PublicDocument = components['schemas']['PublicDocument'];
export type Lane = components['schemas']['Lane'];
export type PositionWait = components['schemas']['PositionWait'];
export type PositionAhead = components['schemas']['PositionAhead'];
export type FinishReason = components['schemas']['FinishReason'];
export type ValidateResponse = components['schemas']['ValidateResponse'];
export type Jwks = components['schemas']['Jwks'];
export type Jwk = components['schemas']['Jwk'];
export type Problem = components['schemas']['Problem'];
