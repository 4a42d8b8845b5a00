/**
 * A git server with a login, and beside it the attacker's own server, in a process that outlives each
 * test. Says on standard output where they are, and notes in files what they were asked.
 */
import { join } from "@std/path";
import { LOGIN, PRIVATE, startGitServer } from "../support/git_server.ts";

const [prize, directory] = Deno.args;
const RIGHT = `Basic ${btoa(`${LOGIN.username}:${LOGIN.password}`)}`;
const note = (name: string, request: Request) => {
  const { pathname, search } = new URL(request.url);
  const line = `${request.method} ${pathname}${search} ${JSON.stringify([...request.headers])}\n`;
  Deno.writeTextFileSync(join(directory, name), line, { append: true });
};

const evil = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
  note("evil.log", request);
  return new Response("evil\n", { headers: { "www-authenticate": "Basic" }, status: 401 });
});
const elsewhere = `http://localhost:${evil.addr.port}`;

const server = startGitServer({
  directory,
  answer(request) {
    note("server.log", request);
    const { pathname, search } = new URL(request.url);
    const [, top, name] = pathname.split("/");
    if (top !== PRIVATE || request.headers.get("authorization") !== RIGHT) return undefined;
    if (name === "moved.git") return Response.redirect(`${elsewhere}${pathname}${search}`, 302);
    const echoed = JSON.stringify([...request.headers]);
    if (name === "echo.git") return new Response(echoed);
    if (name === "refuses.git") return new Response(echoed, { status: 403 });
    if (pathname.toLowerCase().includes("prize")) return new Response(`${prize}\n`);
    return undefined;
  },
});
server.create(`${PRIVATE}/repo.git`);
for (const path of [directory, server.ca]) Deno.chmodSync(path, 0o755);
const { port, ca } = server;
console.log(JSON.stringify({ port, evil: evil.addr.port, ca }));
