import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { runCommand } from "./command.ts";
import { forwarder } from "./forwarder.ts";
import { detectSandbox } from "./sandbox.ts";

const jail = granted("run", "write", "env", "net", "sys") ? await detectSandbox("auto") : undefined;
const ignore = jail?.forwards !== true;

for (const [arch, machine] of [["x86_64", 62], ["aarch64", 183]] as const) {
  Deno.test(`the program for ${arch} is a small executable without a writable part`, () => {
    const file = forwarder(arch)!;
    const view = new DataView(file.buffer);
    assertEquals(view.getUint32(0), 0x7f454c46);
    assertEquals(view.getUint16(18, true), machine);
    assert(file.length < 2_048, String(file.length));
    assertEquals(view.getUint32(68, true), 5, "readable and executable");
    const entry = Number(view.getBigUint64(24, true) - view.getBigUint64(80, true));
    assert(entry >= 176 && entry < file.length);
  });
}

/** Runs commands that reach a server behind a Unix socket; by default it returns what it is sent. */
async function withEcho(
  body: (run: (command: string) => Promise<[number | null, string]>) => Promise<void>,
  serve = (conn: Deno.Conn): unknown => conn.readable.pipeTo(conn.writable).catch(() => {}),
) {
  const directory = Deno.realPathSync(Deno.makeTempDirSync());
  const workdir = Deno.realPathSync(Deno.makeTempDirSync());
  const path = `${directory}/echo`;
  const listener = Deno.listen({ transport: "unix", path });
  const serving = (async () => {
    const served: unknown[] = [];
    for await (const conn of listener) served.push(serve(conn));
    await Promise.all(served);
  })();
  const proxy = { path, direct: [] };
  try {
    await body(async (command) => {
      const { exit_code, output } = await runCommand({
        command,
        scope: { workdir, hidden: [], network: false, proxy },
        sandbox: jail!,
        timeout_ms: 60_000,
        signal: new AbortController().signal,
      });
      return [exit_code, output.trim()];
    });
  } finally {
    listener.close();
    await serving;
    await Deno.remove(directory, { recursive: true });
    await Deno.remove(workdir, { recursive: true });
  }
}

const OPEN = "exec 3<>/dev/tcp/127.0.0.1/3128";

Deno.test({ name: "bytes go both ways whole, however many", ignore }, async () => {
  await withEcho(async (run) => {
    const line = `${OPEN}; head -c 3000000 /dev/zero | tr '\\0' x >&3 & ${OPEN}; wait; true`;
    assertEquals((await run(line))[0], 0);
    const both =
      `${OPEN}; (head -c 3000000 /dev/zero | tr '\\0' x >&3) & head -c 3000000 <&3 | tr -d x | wc -c`;
    assertEquals(await run(both), [0, "0"]);
  });
});

Deno.test({ name: "the command is what it would be without it", ignore }, async () => {
  await withEcho(async (run) => {
    assertEquals(await run("exit 7"), [7, ""]);
    assertEquals(await run(`printf '%s|' "$0" "$#"; echo "$HTTP_PROXY $no_proxy"`), [
      0,
      "/bin/bash|0|http://127.0.0.1:3128",
    ]);
    const [, descriptors] = await run("ls -l /proc/self/fd");
    assert(!descriptors.includes("socket:"), descriptors);
    // Its own children are reported to it.
    assertEquals(await run("(exit 3) & wait $!; echo $?"), [0, "3"]);
  });
});

Deno.test({ name: "the command has no child that it did not start", ignore }, async () => {
  await withEcho(async (run) => {
    // A program in the shell's place that waits for all its children would wait for that one, too.
    assertEquals(await run(`read -r children </proc/$$/task/$$/children; echo "[$children]"`), [
      0,
      "[]",
    ]);
  });
});

Deno.test(
  { name: "many connections at once are all carried, and none is left", ignore },
  async () => {
    await withEcho(async (run) => {
      const line = "for n in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/3128 && echo $n >&3 && " +
        "read -r back <&3 && echo got $back) & done; wait; sleep 0.3; " +
        "cat /proc/[0-9]*/comm | grep -c svc-forward";
      const [code, output] = await run(line);
      const lines = output.split("\n");
      assertEquals([code, lines.filter((it) => it.startsWith("got ")).length], [0, 100]);
      assertEquals(lines.at(-1), "1");
    });
  },
);

Deno.test(
  { name: "clients that stay when the proxy has closed them leave nothing", ignore },
  async () => {
    await withEcho(async (run) => {
      const line = "for n in $(seq 50); do exec {fd}<>/dev/tcp/127.0.0.1/3128; done; sleep 0.5; " +
        "ls /proc/$$/fd | wc -l; cat /proc/[0-9]*/comm | grep -c svc-forward";
      const [, output] = await run(line);
      const [open, processes] = output.split("\n").map(Number);
      assert(open >= 50, output);
      assertEquals(processes, 1);
    }, (conn) => conn.close());
  },
);

Deno.test(
  { name: "without a proxy there, its clients are told so, and the command runs", ignore },
  async () => {
    const workdir = Deno.realPathSync(Deno.makeTempDirSync());
    const path = `${Deno.realPathSync(Deno.makeTempDirSync())}/gone`;
    Deno.listen({ transport: "unix", path }).close();
    Deno.writeTextFileSync(path, "");
    const { output } = await runCommand({
      command: `${OPEN}; echo x >&3; cat <&3; echo went on`,
      scope: { workdir, hidden: [], network: false, proxy: { path, direct: [] } },
      sandbox: jail!,
      timeout_ms: 20_000,
      signal: new AbortController().signal,
    });
    assertStringIncludes(output, "went on");
  },
);

Deno.test({ name: "where it cannot begin, it says so", ignore }, async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr;
  const directory = Deno.realPathSync(Deno.makeTempDirSync());
  const program = `${directory}/program`;
  Deno.writeFileSync(program, forwarder(Deno.build.arch, { port })!, { mode: 0o755 });
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args: ["/bin/echo", "ran"],
  }).output();
  const [said, complained] = [stdout, stderr].map((it) => new TextDecoder().decode(it));
  assertEquals([code, said], [126, ""]);
  assertStringIncludes(complained, "svc: the command did not start");
  await Deno.remove(directory, { recursive: true });
});
