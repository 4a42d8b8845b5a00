/** Logins that wait for the person on a provider's page: this tab keeps them while it is loaded anew. */

export interface LeftLogin {
  /** What it is for: a provider, a tool server. */
  name: string;
  /** The provider's page. */
  url: string;
}

/** Keeps a login that waits, or forgets the one that did. */
export function keepLogin(kind: string, login: LeftLogin | undefined): void {
  try {
    if (login === undefined) sessionStorage.removeItem(`svc.login.${kind}`);
    else sessionStorage.setItem(`svc.login.${kind}`, JSON.stringify(login));
  } catch {
    // Without storage its notice lasts as long as the page.
  }
}

/** Returns the login that waited when the page was left. */
export function leftLogin(kind: string): LeftLogin | undefined {
  try {
    const left = JSON.parse(sessionStorage.getItem(`svc.login.${kind}`) ?? "null");
    return /^https?:/i.test(left?.url) ? left : undefined;
  } catch {
    return undefined;
  }
}
