// Two accounts in one browser. The storage keeps a place for each of them, and while a place is live, a link of another
// account takes the visitor from it only when the visitor says so.

import type { PlaceRecords } from "./storage.js";
import type { OtherAccount } from "./types.js";

/** What the bearer of a ticket or of a login's token reads in it. Only the server verifies it. */
export interface Claims {
  readonly sub?: unknown;
  readonly name?: unknown;
  readonly bypass?: unknown;
}

/** Reads the claims of a JWT. Any other value has none. */
export function readClaims(token: unknown): Claims {
  try {
    const payload = (token as string).split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/");
    const bytes = Uint8Array.from(atob(payload), (letter) => letter.charCodeAt(0));
    return Object(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return {};
  }
}

// Nobody can read the account in its hash. A page without TLS has no WebCrypto, and keeps the accounts apart as they are.
async function hashAccount(account: string): Promise<string> {
  try {
    const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(account));
    return new Uint8Array(hash).join(".");
  } catch {
    return encodeURIComponent(account);
  }
}

/** Whose place a client follows, and whose it could follow. Anonymous visitors are one account, without a name. */
export class Accounts {
  /** The account whose place is followed. */
  followed = "";
  /** Whether the visitor has said which of two accounts to follow. */
  isChosen = false;
  // That of the ticket or the login, if it is known.
  #linked: string | undefined;
  // Another one that has a place in this browser.
  #former: string | undefined;
  // The visit that the visitor has chosen before.
  #chosenVisit = NaN;
  // Whether the ticket asks beside an anonymous place, too. Any other ticket gives such a place nothing.
  #isBypass = false;

  /** Reads what the browser knows. `account` or the ticket names the one of the link, and `address` the queue. */
  async readAccounts(records: PlaceRecords, account: string | undefined, ticket: unknown, address: string): Promise<void> {
    const { sub, bypass } = readClaims(ticket);
    const name = account || sub;
    this.#isBypass = bypass === true;
    if (name) this.#linked = await hashAccount(`${address} ${name}`);
    const [followed = "", former = followed, visit] = (await records.readAccounts()).split(" ");
    this.followed = followed;
    this.#chosenVisit = Number(visit);
    if (former !== followed && (await records.readPlaceOf(former))) this.#former = former;
  }

  /** Whether the link is not of the followed account. */
  get isOther(): boolean {
    return this.#linked !== undefined && this.#linked !== this.followed;
  }

  /** Which other account there is beside a visit of the followed one. */
  describeOther(visit?: number): OtherAccount {
    if (this.isOther && (this.followed || this.#isBypass)) {
      return this.isChosen || visit === this.#chosenVisit ? "kept" : "new";
    }
    return [undefined, this.followed].includes(this.#former) ? "none" : "former";
  }

  /** Follows the account of the link, because the followed one has no live place. */
  followLinked(): void {
    this.followed = this.#linked!;
  }

  /** The visitor goes on as the other account. Returns whether there is one. */
  changeFollowed(): boolean {
    const { followed } = this;
    const other = this.describeOther();
    if (other === "none") return false;
    this.followed = (other === "former" ? this.#former : this.#linked)!;
    this.#former = followed;
    return (this.isChosen = true);
  }

  /** What outlasts the page: both accounts, and the visit that the visitor has chosen. */
  toText(visit?: number): string {
    const { followed } = this;
    return [followed, this.#former ?? followed, (this.isChosen && visit) || this.#chosenVisit || ""].join(" ").trimEnd();
  }
}
