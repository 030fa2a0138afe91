// The login of a shop whose visitors need an authorizer. The page sends a visitor without a token to it, and it comes back
// to the page with the token in the fragment, which no server sees.

// With these codes the authorizer does not know the visitor.
const UNKNOWN_VISITOR = /^(unauthorized|identity-missing)$/;

/** The visitor's token for the authorizer, and the way to get one. */
export class Login {
  #token: string | null;
  // Whether the visitor comes from the login. If the authorizer refuses its token, another login would not help.
  #isFresh: boolean;

  /** `token` is the one in the fragment. The state of the history keeps it over a reload, for this tab only. */
  constructor(token: string | null) {
    this.#isFresh = !!token;
    this.#token = token ?? history.state;
  }

  /** The headers of each request about the entry. */
  headers(): Record<string, string> {
    return this.#token ? { Authorization: this.#token } : {};
  }

  /**
   * Goes to the login if a request failed because the visitor is not known. `address` is the theme's, in which `{page}`
   * becomes the address of this page. Returns whether the page is left, with a token that has expired.
   */
  go(address: string | undefined, code: string): boolean {
    const isLeft = !!address && !this.#isFresh && UNKNOWN_VISITOR.test(code);
    if (isLeft) {
      // Another answer may come before the browser has left.
      this.#isFresh = true;
      location.replace(address.replace("{page}", encodeURIComponent(location.href)));
    }
    return isLeft;
  }
}
