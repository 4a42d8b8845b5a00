/**
 * Connects a command without network to a proxy outside: a program of 1 KB that listens on the
 * command's own loopback, forwards each connection to a Unix socket, and then becomes the command's
 * shell, or the program for the next port. It has no rights; the proxy decides.
 *
 * Built here because no suitable program is sure to be installed, and starting one like svc for
 * each command takes 60 ms and 60 MB.
 */
import { Program, writesFor } from "./machine_code.ts";

/** For HTTP and SOCKS 5. */
export const PROXY_PORT = 3128;
/** Paths in the sandbox. */
export const PROXY_SOCKET = "/run/svc-proxy";
export const FORWARDER = "/run/svc-forward";

/** Returns the paths in the sandbox for a port of the machine. */
export function portPaths(port: number): { socket: string; program: string } {
  return { socket: `/run/svc-port-${port}`, program: `${FORWARDER}-${port}` };
}

/** Returns the variables by which programs find the proxy, except for the `direct` hosts. */
export function proxyEnvironment(
  direct: readonly string[],
  port = PROXY_PORT,
): Record<string, string> {
  const http = `http://127.0.0.1:${port}`;
  const java = ["http", "https"]
    .map((scheme) => `-D${scheme}.proxyHost=127.0.0.1 -D${scheme}.proxyPort=${port}`).join(" ");
  const variables = {
    HTTP_PROXY: http,
    HTTPS_PROXY: http,
    // Only the proxy can resolve names.
    ALL_PROXY: `socks5h://127.0.0.1:${port}`,
    NO_PROXY: direct.join(","),
  };
  return {
    ...variables,
    ...Object.fromEntries(
      Object.entries(variables).map(([name, value]) => [name.toLowerCase(), value]),
    ),
    // Without it, Node's own fetch ignores these variables.
    NODE_USE_ENV_PROXY: "1",
    // Java ignores them. It reaches its own loopback directly by itself.
    GRADLE_OPTS: java,
    MAVEN_OPTS: `${java} -Daether.connector.http.useSystemProperties=true`,
  };
}

const BUFFER_BYTES = 16 * 1024;
const [AF_UNIX, AF_INET, STREAM, CLOEXEC] = [1, 2, 1, 0o2000000];
const [SOL_SOCKET, SO_REUSEADDR] = [1, 2];
const [SIGCHLD, RLIMIT_NPROC, BACKLOG] = [17, 6, 4096];
/** Gives a new process the parent of its maker. */
const CLONE_PARENT = 0x8000;
/** SHUT_WR, SHUT_RDWR */
const [WRITING, READING_AND_WRITING] = [1, 2];
/** The exit code of a shell that cannot run a program, and its message. */
const NOT_RUN = 126;
const PROBLEM = "svc: the command did not start: there was no process, port or shell for it\n";

/**
 * Builds the program.
 *
 * @param options.max_processes the limit it shares with the command; 0 for none
 * @param options.socket where it forwards connections to
 * @param options.optional whether the command starts without it if its port is taken
 * @returns `undefined` for an unsupported machine
 */
export function forwarder(
  arch = Deno.build.arch,
  { port = PROXY_PORT, max_processes = 0, socket = PROXY_SOCKET, optional = false } = {},
): Uint8Array<ArrayBuffer> | undefined {
  if (!writesFor(arch)) return undefined;
  const path = new TextEncoder().encode(socket);
  const inside = new Uint8Array([AF_INET, 0, port >> 8, port & 0xff, 127, 0, 0, 1, ...zeros(8)]);
  const outside = new Uint8Array([AF_UNIX, 0, ...path, 0]);
  const problem = new TextEncoder().encode(PROBLEM);
  const limit = new BigUint64Array(2).fill(BigInt(max_processes));
  const program = new Program(arch, BUFFER_BYTES)
    .data("inside", inside)
    .data("outside", outside)
    .data("problem", problem)
    .data("on", new Uint8Array([1, 0, 0, 0]))
    .data("limit", new Uint8Array(limit.buffer))
    // struct sigaction with SIG_IGN: the kernel then reaps children itself.
    .data("ignored", new Uint8Array([1, ...zeros(31)]))
    .data("pause", new Uint8Array([...zeros(8), ...[0x80, 0x96, 0x98, 0, 0, 0, 0, 0]])) // 10 ms
    .call("socket", AF_INET, STREAM | CLOEXEC, 0).jump("failed", "negative").keep("a")
    // In a shared network, connections of an earlier command may not have quite ended.
    .call("setsockopt", "a", SOL_SOCKET, SO_REUSEADDR, { data: "on" }, 4)
    .call("bind", "a", { data: "inside" }, inside.length)
    .jump(optional ? "become" : "failed", "negative")
    .call("listen", "a", BACKLOG).jump("failed", "negative");
  // Not its own child: a program that waits for all its children would never end.
  fork(program, CLONE_PARENT).jump("serve", "zero").jump("become", "positive");
  // Kernel emulators may not know that flag.
  fork(program).jump("serve", "zero").jump("failed", "negative")
    .label("become").execArguments()
    .label("failed").call("write", 2, { data: "problem" }, problem.length).call("exit", NOT_RUN);

  // The command's output must end with the command, and its signals must not reach the proxy.
  program.label("serve")
    .call("setsid")
    .call("dup3", "a", 0, 0)
    .call("close", 1).call("close", 2)
    .call("close_range", 1, -1, 0)
    .call("rt_sigaction", SIGCHLD, { data: "ignored" }, 0, 8);
  // Otherwise connections would be processes outside the command's limit.
  if (max_processes > 0) program.call("prlimit64", 0, RLIMIT_NPROC, { data: "limit" }, 0);
  program.label("next")
    .call("accept4", 0, 0, 0, 0).jump("wait", "negative").keep("a");
  fork(program).jump("connection", "zero")
    .call("close", "a")
    .jump("next")
    .label("wait").call("nanosleep", { data: "pause" }, 0).jump("next");

  // One process per direction, so that neither waits for the other.
  program.label("connection")
    .call("close", 0)
    .call("socket", AF_UNIX, STREAM, 0).jump("end", "negative").keep("b")
    .call("connect", "b", { data: "outside" }, outside.length).jump("end", "negative");
  fork(program).jump("back", "zero").jump("end", "negative");
  carry(program, "out", WRITING);
  program.label("back").copy("at", "a").copy("a", "b").copy("b", "at");
  // Otherwise a client that stays connected would keep two processes alive.
  carry(program, "in", READING_AND_WRITING);
  return program.label("end").call("exit", 0).elf();
}

/** Copies bytes from `a` to `b` until they end, then shuts `b` down and exits. */
function carry(program: Program, name: string, how: number): void {
  program.label(`${name} read`)
    .call("read", "a", "buffer", BUFFER_BYTES).jump(`${name} finish`, "not positive")
    .keep("count").copy("at", "buffer")
    .label(`${name} write`)
    .call("write", "b", "at", "count").jump("end", "not positive")
    .add("at").subtract("count").recall("count").jump(`${name} write`, "positive")
    .jump(`${name} read`)
    .label(`${name} finish`).call("shutdown", "b", how).call("exit", 0);
}

function fork(program: Program, flags = 0): Program {
  return program.call("clone", SIGCHLD | flags, 0, 0, 0);
}

const zeros = (count: number): number[] => Array(count).fill(0);
