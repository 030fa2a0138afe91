// The login of a shop whose visitors need an authorizer. The page sends a visitor without a token to it, and it comes back
// to the page with the token in the fragment, which no server sees.

import { readStored, writeStored } from "../../client/src/stored.js";

// With these codes the authorizer does not know the visitor.
const UNKNOWN_VISITOR = /^(unauthorized|identity-missing)$/;

const STORED_TOKEN = "vestibule:token";

/** The visitor's token for the authorizer, and the way to get one. */
export class Login {
  /** The token of the link, or else the last one of this tab. */
  token: string;
  // That of the place that this tab had before.
  #former: string;
  // Whether the visitor comes from the login. If the authorizer refuses its token, another login would not help.
  #isFresh: boolean;

  /** `token` is the one in the fragment. The session of the tab keeps it. */
  constructor(token: string | null) {
    this.#former = readStored(STORED_TOKEN, "sessionStorage") ?? "";
    this.#isFresh = !!token;
    this.token = token ?? this.#former;
  }

  /** The headers of each request about the entry. `isOther`: the entry is not of the account of the link. */
  headers(isOther: boolean): Record<string, string> {
    const token = isOther ? this.#former : this.token;
    if (!token) return {};
    // The tab keeps the token of the place that it follows.
    writeStored(STORED_TOKEN, token, "sessionStorage");
    return { Authorization: token };
  }

  /** The visitor keeps the place, whose token may have to be got again. */
  keep(): void {
    this.#isFresh = false;
  }

  /** Whether a request failed because the authorizer does not know the visitor. */
  isUnknown(code = ""): boolean {
    return UNKNOWN_VISITOR.test(code);
  }

  /**
   * Goes to the login if a request failed because the visitor is not known. `address` is the theme's, in which `{page}`
   * becomes the address of this page. Returns whether the page is left, with a token that has expired.
   */
  go(address: string | undefined, code: string): boolean {
    const isLeft = !!address && !this.#isFresh && this.isUnknown(code);
    if (isLeft) {
      // Another answer may come before the browser has left.
      this.#isFresh = true;
      location.replace(address.replace("{page}", encodeURIComponent(location.href)));
    }
    return isLeft;
  }
}
