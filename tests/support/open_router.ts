/** The key that {@linkcode openRouter} gives in the browser. */
export const BROWSER_KEY = "sk-or-v1-of-the-browser";

/** OpenRouter, as far as a login needs it: its page sends the person back at once. */
export function openRouter() {
  const challenges = new Map<string, string>();
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    asked.push(pathname);
    if (pathname === "/auth") {
      if (provider.waits) return new Response("A page that somebody looks at.");
      const code = `code-${crypto.randomUUID()}`;
      challenges.set(code, searchParams.get("code_challenge")!);
      const back = new URL(searchParams.get("callback_url")!);
      if (provider.refuses) back.searchParams.set("error", "denied by you");
      else back.searchParams.set("code", code);
      return Response.redirect(back, 302);
    }
    if (pathname === "/api/v1/auth/keys") {
      const { code, code_verifier } = await request.json();
      const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(code_verifier));
      const challenge = new Uint8Array(hash).toBase64({ alphabet: "base64url", omitPadding: true });
      return challenges.get(code) === challenge
        ? Response.json({ key: BROWSER_KEY, user_id: "user_1" })
        : Response.json({ error: { message: "Invalid code_verifier", code: 403 } }, {
          status: 403,
        });
    }
    const known = request.headers.get("authorization") === `Bearer ${BROWSER_KEY}`;
    return known
      ? Response.json({ data: [{ id: "acme/model" }] })
      : Response.json({ error: { message: "No auth" } }, { status: 401 });
  });
  const provider = {
    asked,
    /** Whether the person does not agree. */
    refuses: false,
    /** Whether the person has not answered yet. */
    waits: false,
    origin: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
  return provider;
}
