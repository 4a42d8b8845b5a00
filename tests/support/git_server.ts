/** A git server over https, with a login, for repositories in a directory. */
import { join } from "@std/path";
import { certificates } from "./own_authority.ts";

export const LOGIN = { username: "me", password: "the-right-password-of-the-test" };
/** The repositories below this directory are for those who have logged in. */
export const PRIVATE = "private";

export interface GitServerOptions {
  /** Answers instead of the server. */
  answer?(request: Request): Response | undefined | Promise<Response | undefined>;
  /** Where its files are; default: one of its own, which ends with it. */
  directory?: string;
}

/** Starts it on loopback. */
export function startGitServer(options: GitServerOptions = {}) {
  const { answer, directory = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "git-server-" })) } =
    options;
  const root = join(directory, "repositories");
  Deno.mkdirSync(root);
  const { ca, cert, key } = certificates(directory);
  const asked: { line: string; authorization: string | null; headers: Headers }[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, cert, key, onListen() {} },
    async (request) => {
      const { pathname, search } = new URL(request.url);
      const authorization = request.headers.get("authorization");
      const line = `${request.method} ${pathname}${search}`;
      asked.push({ line, authorization, headers: request.headers });
      const own = await answer?.(request);
      if (own !== undefined) return own;
      const right = `Basic ${btoa(`${LOGIN.username}:${LOGIN.password}`)}`;
      const needed = pathname.startsWith(`/${PRIVATE}/`) || line.includes("git-receive-pack");
      if (needed && authorization !== right) {
        await request.body?.cancel();
        return new Response("log in\n", {
          status: 401,
          headers: { "www-authenticate": 'Basic realm="git"', "set-cookie": "session=1" },
        });
      }
      return await backend(root, request);
    },
  );
  const { port } = server.addr;
  return {
    ca,
    port,
    host: `localhost:${port}`,
    url: `https://localhost:${port}`,
    asked,
    /** Makes a repository with one commit, the same in all of one subject. @returns its path */
    create(name: string, subject = "first"): string {
      const path = join(root, name);
      git("init", "-q", "--bare", "-b", "main", path);
      const work = join(directory, `work-${crypto.randomUUID()}`);
      git("init", "-q", "-b", "main", work);
      Deno.writeTextFileSync(join(work, "first.txt"), "first\n");
      git("-C", work, "add", "first.txt");
      git("-C", work, ...COMMITTER, "commit", "-qm", subject);
      git("-C", work, "push", "-q", path, "main");
      return path;
    },
    /** The subjects of a repository's commits. */
    log(path: string, branch = "main"): string[] {
      return git("-C", path, "log", "--format=%s", branch).split("\n");
    },
    branches(path: string): string[] {
      return git("-C", path, "branch", "--format=%(refname:short)").split("\n");
    },
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      if (options.directory === undefined) await Deno.remove(directory, { recursive: true });
    },
  };
}

export type GitServer = ReturnType<typeof startGitServer>;

export const COMMITTER = ["-c", "user.name=a", "-c", "user.email=a@example.com"];

const WHEN = "2026-01-01T00:00:00Z";
const DATED = { GIT_AUTHOR_DATE: WHEN, GIT_COMMITTER_DATE: WHEN };

/** Runs git outside of any sandbox. @returns its output @throws its message */
export function git(...args: string[]): string {
  const { success, stdout, stderr } = new Deno.Command("git", { args, env: DATED }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trimEnd();
}

/** Answers with git's own CGI program. */
async function backend(root: string, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const { headers } = request;
  const child = new Deno.Command("git", {
    args: ["http-backend"],
    env: {
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      REQUEST_METHOD: request.method,
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: headers.get("content-type") ?? "",
      REMOTE_USER: headers.has("authorization") ? LOGIN.username : "",
      HTTP_CONTENT_ENCODING: headers.get("content-encoding") ?? "",
      GIT_PROTOCOL: headers.get("git-protocol") ?? "",
      ...(headers.has("content-length") ? { CONTENT_LENGTH: headers.get("content-length")! } : {}),
    },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const sent = (request.body ?? new Blob([]).stream()).pipeTo(child.stdin).catch(() => {});
  const { stdout } = await child.output();
  await sent;
  const end = findEnd(stdout);
  const lines = new TextDecoder().decode(stdout.subarray(0, end)).split("\r\n");
  const answered = new Headers(
    lines.filter((it) => it.includes(": ")).map((it) => it.split(": ", 2) as [string, string]),
  );
  const status = Number(answered.get("status")?.slice(0, 3) ?? 200);
  answered.delete("status");
  return new Response(stdout.slice(end + 4), { status, headers: answered });
}

function findEnd(bytes: Uint8Array): number {
  for (let at = 0; at + 3 < bytes.length; at++) {
    if (bytes[at] === 13 && bytes[at + 1] === 10 && bytes[at + 2] === 13) return at;
  }
  return bytes.length;
}

/** The person's helper: what it does stands in a shell script. */
export function useHelper(home: string, lines: string): { calls(): string[] } {
  const helper = join(home, "helper.sh");
  const log = join(home, "helper.log");
  const script =
    `#!/bin/sh\necho "$1 $(tr '\\n' ' ')" >> ${log}\n[ "$1" = get ] || exit 0\n${lines}\n`;
  Deno.writeTextFileSync(helper, script, { mode: 0o755 });
  Deno.writeTextFileSync(
    join(home, ".gitconfig"),
    `[user]\n\tname = Me\n\temail = me@example.com\n[credential]\n\thelper = ${helper}\n`,
  );
  return {
    calls() {
      try {
        return Deno.readTextFileSync(log).trimEnd().split("\n");
      } catch {
        return [];
      }
    },
  };
}

/** Lines of a helper that knows the login. */
export const KNOWS = `echo username=${LOGIN.username}; echo password=${LOGIN.password}`;
