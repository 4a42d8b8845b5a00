/** product.md, Authentication, surface A: HTTP and the local socket. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { LISTED_LOOPBACKS } from "../support/loopback.ts";
import { hasProgram } from "../support/programs.ts";
import { rawHttp } from "../support/raw.ts";
import { can_run_svc, Place } from "../support/svc.ts";
import { row } from "./row.ts";
import { exists, http, mode, Shared } from "./shared.ts";

const shared = new Shared();
const SECTION = "Authentication";
const NOBODY = "65534";

row("product", SECTION, "local socket: no credential; file mode 0600", async () => {
  await using client = await shared.socket();
  await client.call("session.list");
  assertEquals(mode(shared.daemon.sock), "600");
  assertEquals(mode(join(shared.daemon.sock, "..")), "700");
});

row("product", SECTION, "local socket: the peer's credentials are checked", async () => {
  // Another user, whom no file's mode keeps out.
  const ask = `
    const conn = await Deno.connect({ transport: "unix", path: "${shared.daemon.sock}" });
    const request = { jsonrpc: "2.0", id: 1, method: "daemon.discover" };
    await conn.write(new TextEncoder().encode(JSON.stringify(request) + "\\n")).catch(() => {});
    const answer = new Uint8Array(65_536);
    const length = await conn.read(answer).catch(() => null);
    console.log(JSON.stringify(new TextDecoder().decode(answer.subarray(0, length ?? 0))));`;
  const asks = async (user: string) => {
    const caps = "+dac_read_search,+dac_override";
    const { code, stdout, stderr } = await new Deno.Command("setpriv", {
      args: [
        ...["--reuid", user, "--regid", user, "--clear-groups"],
        ...["--inh-caps", caps, "--ambient-caps", caps],
        ...[Deno.execPath(), "eval", "--quiet", ask],
      ],
      env: { DENO_DIR: shared.workdir(), NO_COLOR: "1" },
    }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    return JSON.parse(new TextDecoder().decode(stdout));
  };
  assertStringIncludes(await asks("0"), shared.daemon.token);
  assertEquals(await asks(NOBODY), "");
}, { ignore: !can_run_svc || Deno.uid() !== 0 || !hasProgram("setpriv") });

row("product", SECTION, "loopback HTTP: Authorization: Bearer <token>", async () => {
  assertEquals((await shared.http("GET", "/v1/sessions")).status, 200);
  const { token } = shared.daemon;
  for (const authorization of [token, `Basic ${token}`, "Bearer", `Bearer ${token}0`, ""]) {
    const headers = { authorization };
    const { status } = await shared.http("GET", "/v1/sessions", { token: null, headers });
    assertEquals(status, 401, authorization);
  }
});

row("product", SECTION, "loopback HTTP: Host pin", async () => {
  const headers = { authorization: `Bearer ${shared.daemon.token}`, host: "evil.example" };
  const { status } = await rawHttp(shared.daemon.port, "GET", "/v1/sessions", headers);
  assertEquals(status, 403);
});

row("product", SECTION, "1. discover and health need no token", async () => {
  for (const path of ["/v1/discover", "/v1/health"]) {
    assertEquals((await shared.http("GET", path, { token: null })).status, 200);
    assertEquals((await shared.http("GET", path, { token: "0".repeat(64) })).status, 200);
  }
});

row("product", SECTION, "1. discover and health are loopback-only", async () => {
  const others = Deno.networkInterfaces().filter((it) =>
    it.family === "IPv4" && !it.address.startsWith("127.")
  );
  for (const { address } of others) {
    await assertRejects(() => Deno.connect({ hostname: address, port: shared.daemon.port }));
  }
  // In the system's tables of listeners: 127.0.0.1, ::1 where there is IPv6, and no other.
  const port = shared.daemon.port.toString(16).toUpperCase().padStart(4, "0");
  const listeners = ["/proc/net/tcp", "/proc/net/tcp6"].filter(exists)
    .flatMap((path) => Deno.readTextFileSync(path).split("\n"))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => state === "0A" && local.endsWith(`:${port}`));
  const loopback = LISTED_LOOPBACKS.map((address) => `${address}:${port}`);
  assertEquals(listeners.map(([, local]) => local), loopback);
}, { ignore: Deno.build.os !== "linux" });

row("product", SECTION, "2. an old token gets 401; the discovery file has the new", async () => {
  await using place = new Place();
  const old = await place.serve();
  await old.stop();
  const daemon = await place.serve();
  const { status } = await http(daemon, "GET", "/v1/sessions", { token: old.token });
  assertEquals(status, 401);
  const { token } = place.discovery();
  assertEquals((await http(daemon, "GET", "/v1/sessions", { token })).status, 200);
});

row("product", SECTION, "4. Host is 127.0.0.1:<port> or localhost:<port>", async () => {
  const { port } = shared.daemon;
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
    assertEquals((await rawHttp(port, "GET", "/v1/health", { host })).status, 200, host);
  }
  const hosts = [
    "127.0.0.1",
    "localhost",
    `127.0.0.1:${port + 1}`,
    `evil.example:${port}`,
    `127.0.0.1.evil.example:${port}`,
    `[::1]:${port}`,
    `0.0.0.0:${port}`,
  ];
  for (const host of hosts) {
    for (const path of ["/v1/health", "/v1/discover", "/"]) {
      const { status, body } = await rawHttp(port, "GET", path, { host });
      assert(status >= 400 && status < 500, `${host} ${path}: ${status}`);
      assert(!body.includes(shared.daemon.token));
    }
  }
});

for (
  const [what, path, bits] of [
    ["~/.svc/", "", 0o755],
    ["daemon.json", "daemon.json", 0o644],
    ["daemon.lock", "daemon.lock", 0o640],
    ["the socket file", "run/svc.sock", 0o666],
  ] as const
) {
  row("product", SECTION, `5. ${what} with wider permissions: refuses to start`, async () => {
    await using place = new Place();
    const daemon = await place.serve();
    // A crash leaves everything where it is.
    await daemon.kill();
    const whole = join(place.home, path);
    Deno.chmodSync(whole, bits);
    const { code, stderr } = await place.svc(["serve", "--emit-port-stdout"]);
    assertEquals(code, 1);
    assertStringIncludes(stderr, whole.replace(/\/$/, ""));
    assertEquals(mode(whole), bits.toString(8));
  });
}

row("product", SECTION, "6. an advisory lock on daemon.lock", async () => {
  await using place = new Place();
  const daemon = await place.serve();
  await daemon.stop();
  const lock = join(place.home, "daemon.lock");
  Deno.writeTextFileSync(lock, "", { mode: 0o600, create: true });
  const holder = new Deno.Command("flock", {
    args: [lock, "sh", "-c", "echo held; read done"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = holder.stdout.getReader();
  await reader.read();
  assertEquals((await place.svc(["serve"])).code, 1);
  await holder.stdin.close();
  await reader.cancel();
  await holder.status;
  assert((await place.serve()).port > 0);
}, { ignore: !hasProgram("flock") });

row("product", SECTION, "6. exclusive binding of the socket and port", async () => {
  await using place = new Place();
  await assertRejects(() => place.serve("--port", String(shared.daemon.port)));
  place.env.SVC_RUNTIME_DIR = join(shared.daemon.sock, "..");
  await assertRejects(() => place.serve());
  await using client = await shared.socket();
  assertEquals((await client.call("daemon.discover")).pid, shared.daemon.pid);
});

row("product", SECTION, "6. one daemon per operating-system user id", async () => {
  const starts = [1, 2, 3].map(() => shared.place.svc(["serve"]));
  for (const { code } of await Promise.all(starts)) assertEquals(code, 1);
  await using place = new Place();
  const racing = await Promise.allSettled([place.serve(), place.serve(), place.serve()]);
  assertEquals(racing.filter(({ status }) => status === "fulfilled").length, 1);
});
