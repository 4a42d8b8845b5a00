import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { has_bubblewrap } from "../support/bubblewrap.ts";
import { join } from "@std/path";
import { instruct } from "../support/instruct.ts";
import { can_run_svc, type Daemon, Place, type TestClient } from "../support/svc.ts";

const ignore = !can_run_svc;
const MODEL = { model: "builtin/toolbelt", approval: "auto" };
const SECRET = "outside-secret-4711";

interface Jailed {
  place: Place;
  daemon: Daemon;
  client: TestClient;
}

/** A daemon, and a file outside of every workdir. */
async function begin(env: Record<string, string> = {}, toml = ""): Promise<Jailed> {
  const place = new Place(env);
  if (toml !== "") place.configure(toml);
  Deno.writeTextFileSync(join(place.dir, "outside.txt"), SECRET);
  const daemon = await place.serve();
  return { place, daemon, client: await daemon.rpc() };
}

async function end({ client, place }: Jailed): Promise<void> {
  await client[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
}

/** Asserts that a file tool refuses with a sentence, which the model is told, and shows nothing. */
async function refused(jailed: Jailed, session_id: string, text: string): Promise<void> {
  const { ok, output, message } = await instruct(jailed.client, session_id, text);
  assertEquals(ok, false, `${text}: ${output}`);
  assert(/\w+ \w+ \w+/.test(output) && !/os error|\bat .*:\d+:\d+/.test(output), output);
  assertStringIncludes(message, output.split("\n")[0], text);
  assert(!output.includes(SECRET), text);
}

Deno.test({
  name: "file tools stay in the workdir, whatever path they are given",
  ignore,
  async fn() {
    const jailed = await begin();
    const { place, client } = jailed;
    try {
      const workdir = place.mkdir("project");
      const id = await client.session({ workdir, ...MODEL });
      const outside = join(place.dir, "outside.txt");
      Deno.symlinkSync(outside, join(workdir, "link.txt"));
      Deno.symlinkSync("../outside.txt", join(workdir, "relative.txt"));
      Deno.symlinkSync(place.dir, join(workdir, "up"));
      Deno.symlinkSync("/proc/self/root", join(workdir, "root"));
      const journal = join(".svc", "sessions", id, "journal.ndjson");
      const paths = [
        "../outside.txt",
        "a/../../outside.txt",
        "./../project/../outside.txt",
        outside,
        "/etc/passwd",
        "link.txt",
        "relative.txt",
        "up/outside.txt",
        "root/etc/passwd",
        "/proc/self/environ",
        "/proc/self/cwd/outside.txt",
        `/proc/self/root${outside}`,
        join(place.home, "daemon.json"),
        "../home/daemon.json",
        "up/home/daemon.json",
        journal,
        `./x/../${journal}`,
        join(workdir, journal),
        ".svc/.gitignore",
      ];
      const before = Deno.readTextFileSync(join(place.home, "daemon.json"));
      for (const path of paths) {
        await refused(jailed, id, `read ${path}`);
        await refused(jailed, id, `write ${path}\n\`\`\`\nmine\n\`\`\``);
        await refused(jailed, id, `edit ${path}\n\`\`\`\n1\n\`\`\`\n\`\`\`\n2\n\`\`\``);
      }
      for (const path of ["..", "/", "up", "root", ".svc", place.home]) {
        await refused(jailed, id, `ls ${path}`);
        await refused(jailed, id, `grep secret ${path}`);
      }
      await refused(jailed, id, "write .svc/new\n```\nmine\n```");
      await refused(jailed, id, "write up/new\n```\nmine\n```");
      assertEquals(Deno.readTextFileSync(outside), SECRET);
      assertEquals(Deno.readTextFileSync(join(place.home, "daemon.json")), before);
      const names = [...Deno.readDirSync(place.dir)].map(({ name }) => name).sort();
      assertEquals(names, ["home", "outside.txt", "person", "project"]);
      const searched = await instruct(jailed.client, id, "grep outside-secret");
      assert(!searched.output.includes(SECRET), searched.output);
      const listed = await instruct(jailed.client, id, "ls");
      assert(!listed.output.includes(".svc"), listed.output);
      const globbed = await instruct(jailed.client, id, "glob **/*");
      assert(!/journal|outside\.txt|daemon\.json/.test(globbed.output), globbed.output);
      // What is the session's own works, also by its absolute path.
      assertEquals((await instruct(jailed.client, id, "write a/b.txt\n```\nhi\n```")).ok, true);
      const own = await instruct(jailed.client, id, `read ${join(workdir, "a", "b.txt")}`);
      assertEquals([own.ok, own.output.trim()], [true, "hi"]);
    } finally {
      await end(jailed);
    }
  },
});

Deno.test({
  name: "a link that another process swaps while files are read and written leads nowhere",
  ignore: ignore || Deno.build.os !== "linux",
  async fn() {
    const jailed = await begin();
    const { place, client } = jailed;
    const workdir = place.mkdir("project");
    const inside = place.mkdir("project/inside");
    Deno.writeTextFileSync(join(inside, "outside.txt"), "harmless");
    const swapper = new Deno.Command("/bin/sh", {
      args: ["-c", "while :; do ln -sfn inside at; ln -sfn .. at; done"],
      cwd: workdir,
      stdout: "null",
      stderr: "null",
    }).spawn();
    try {
      const id = await client.session({ workdir, ...MODEL });
      const reads = Array(10).fill("read at/outside.txt").join("\n");
      const results = () => client.of("session.tool_completed").map(({ data }) => data);
      const met = () => results().some(({ ok }) => ok) && results().some(({ ok }) => !ok);
      let rounds = 0;
      // The other process may not have come to its turn yet.
      for (; rounds < 12 || (!met() && rounds < 200); rounds++) await client.turn(id, reads);
      for (let round = 0; round < 6; round++) {
        const write = "write at/outside.txt\n```\nharmless\n```";
        await client.turn(id, Array(5).fill(write).join("\n"));
      }
      const ends = results();
      assertEquals(ends.length, 10 * rounds + 30);
      assert(met(), "both sides were met");
      assert(ends.every(({ output }) => !output.includes(SECRET)));
      assertEquals(Deno.readTextFileSync(join(place.dir, "outside.txt")), SECRET);
    } finally {
      swapper.kill("SIGKILL");
      await swapper.status;
      await end(jailed);
    }
  },
});

/** The layouts of two sessions' workdirs, from the view of the first. */
const LAYOUTS = [
  { name: "a sibling", own: "w/one", other: "w/two" },
  { name: "nested in it", own: "w", other: "w/in/two" },
  { name: "around it", own: "w/in/one", other: "w" },
] as const;

for (const { name, own, other } of LAYOUTS) {
  Deno.test({
    name: `another session's workdir is out of reach: ${name}`,
    ignore,
    async fn() {
      const jailed = await begin();
      const { place, client } = jailed;
      try {
        const [mine, theirs] = [place.mkdir(own), place.mkdir(other)];
        Deno.writeTextFileSync(join(theirs, "theirs.txt"), SECRET);
        Deno.writeTextFileSync(join(mine, "mine.txt"), "my own");
        const id = await client.session({ workdir: mine, ...MODEL });
        const other_id = await client.session({ workdir: theirs, ...MODEL });
        const way = name === "around it" ? "../.." : name === "a sibling" ? "../two" : "in/two";
        for (const at of [theirs, way]) {
          await refused(jailed, id, `read ${at}/theirs.txt`);
          await refused(jailed, id, `write ${at}/theirs.txt\n\`\`\`\nmine\n\`\`\``);
          await refused(jailed, id, `write ${at}/new.txt\n\`\`\`\nmine\n\`\`\``);
        }
        const read = await instruct(jailed.client, id, "read mine.txt");
        assertEquals([read.ok, read.output.trim()], [true, "my own"]);
        const found = await instruct(jailed.client, id, "grep outside-secret");
        assert(!found.output.includes(SECRET), found.output);
        if (has_bubblewrap) {
          for (const at of [theirs, way]) {
            const shown = await instruct(jailed.client, id, `run cat ${at}/theirs.txt`);
            assertEquals([shown.ok, shown.output.includes(SECRET)], [false, false], shown.output);
          }
          // Below /tmp, the session finds again what it writes there, in a /tmp of its own.
          for (const at of [theirs, way]) {
            await instruct(
              jailed.client,
              id,
              `run echo mine > ${at}/theirs.txt; echo x > ${at}/new.txt`,
            );
          }
          const ran = await instruct(
            jailed.client,
            id,
            "run cat mine.txt && echo more >> mine.txt",
          );
          assertEquals([ran.ok, ran.output], [true, "my own"]);
        }
        assertEquals(Deno.readTextFileSync(join(theirs, "theirs.txt")), SECRET);
        const files = [...Deno.readDirSync(theirs)].filter(({ isFile }) => isFile);
        assertEquals(files.map((file) => file.name), ["theirs.txt"]);
        assertEquals(
          (await instruct(jailed.client, other_id, "read theirs.txt")).output.trim(),
          SECRET,
        );
      } finally {
        await end(jailed);
      }
    },
  });
}

Deno.test({
  name: "a session in the person's home sees neither svc nor what is another session's",
  ignore,
  async fn() {
    const place = new Place();
    const home = place.mkdir("person");
    place.env.HOME = home;
    delete place.env.SVC_HOME;
    const sock_dir = place.mkdir("runtime");
    Deno.chmodSync(sock_dir, 0o700);
    place.env.SVC_RUNTIME_DIR = sock_dir;
    const daemon = await place.serve();
    const jailed = { place, daemon, client: await daemon.rpc() };
    try {
      Deno.writeTextFileSync(join(home, "mine.txt"), "my own");
      const id = await jailed.client.session({ workdir: home, ...MODEL });
      const nested = place.mkdir("person/projects/secret");
      Deno.writeTextFileSync(join(nested, "theirs.txt"), SECRET);
      await jailed.client.session({ workdir: nested, ...MODEL });
      for (const path of [".svc/daemon.json", "projects/secret/theirs.txt"]) {
        await refused(jailed, id, `read ${path}`);
        await refused(jailed, id, `write ${path}\n\`\`\`\nmine\n\`\`\``);
        if (!has_bubblewrap) continue;
        for (const command of [`cat ${path}`, `cat ~/${path}`, `echo mine > ${path}`]) {
          const ran = await instruct(jailed.client, id, `run ${command}`);
          assertEquals([ran.ok, ran.output.includes("token")], [false, false], ran.output);
          assert(!ran.output.includes(SECRET), ran.output);
        }
      }
      if (has_bubblewrap) {
        await instruct(jailed.client, id, "run mv projects moved; mv .svc svc-moved; true");
        const ran = await instruct(
          jailed.client,
          id,
          "run cat moved/secret/theirs.txt svc-moved/*; ls -a",
        );
        assert(!ran.output.includes(SECRET) && !ran.output.includes(daemon.token), ran.output);
      }
      assertEquals(Deno.readTextFileSync(join(nested, "theirs.txt")), SECRET);
      assertEquals((await instruct(jailed.client, id, "read mine.txt")).output.trim(), "my own");
    } finally {
      await end(jailed);
    }
  },
});

Deno.test({
  name: "a command sees its workdir and the system, nothing of svc and nothing of its environment",
  ignore: ignore || !has_bubblewrap,
  async fn() {
    const key = "sk-ant-secret-of-the-daemon";
    const jailed = await begin({ ANTHROPIC_API_KEY: key, OPENAI_API_KEY: key, MY_SECRET: key });
    const { place, daemon, client } = jailed;
    try {
      const workdir = place.mkdir("project");
      const id = await client.session({ workdir, ...MODEL });
      Deno.symlinkSync(join(place.dir, "outside.txt"), join(workdir, "link.txt"));
      const outside = join(place.dir, "outside.txt");
      const paths = [
        "../outside.txt",
        outside,
        "link.txt",
        `/proc/self/root${outside}`,
        `/proc/1/root${outside}`,
        `/proc/${daemon.pid}/environ`,
        `/proc/${daemon.pid}/root${outside}`,
        join(place.home, "daemon.json"),
        "../home/daemon.json",
        join(".svc", "sessions", id, "journal.ndjson"),
        ".svc/.gitignore",
        daemon.sock,
      ];
      for (const path of paths) {
        const read = await instruct(jailed.client, id, `run cat '${path}'`);
        assertEquals(read.ok, false, `${path}: ${read.output}`);
        assertStringIncludes(read.message, read.output);
        await instruct(jailed.client, id, `run mv '${path}' here; cp ${outside} here`);
      }
      // Below /tmp, the session finds again what it writes there, in a /tmp of its own.
      for (const path of paths) {
        await instruct(jailed.client, id, `run echo mine > '${path}'; rm -f '${path}'`);
      }
      assertEquals(Deno.readTextFileSync(outside), SECRET);
      assertEquals(place.discovery().token, daemon.token);
      const journal = join(workdir, ".svc", "sessions", id, "journal.ndjson");
      assert(Deno.statSync(journal).size > 0);

      const env = await instruct(
        jailed.client,
        id,
        "run env; cat /proc/*/environ | tr '\\0' '\\n'",
      );
      assertStringIncludes(env.output, "PATH=");
      assert(!env.output.includes(key) && !env.output.includes("SVC_HOME"), env.output);
      const connect = `python3 -c "import socket; s = socket.socket(socket.AF_UNIX); ` +
        `s.connect('${daemon.sock}')"`;
      const spoken = await instruct(jailed.client, id, `run ${connect} && echo connected`);
      assert(!spoken.ok && !spoken.output.includes("connected\n"), spoken.output);
      const port = `exec 3<>/dev/tcp/127.0.0.1/${daemon.port} && echo connected`;
      assertEquals((await instruct(jailed.client, id, `run ${port}`)).ok, false);
    } finally {
      await end(jailed);
    }
  },
});

Deno.test({
  name: "where all homes lead through a link, commands run and svc is as hidden",
  ignore: ignore || !has_bubblewrap,
  async fn() {
    await using place = new Place();
    const link = join(place.dir, "link");
    Deno.symlinkSync(place.dir, link);
    const [SVC_HOME, SVC_RUNTIME_DIR] = [join(link, "home"), join(link, "run")];
    Object.assign(place.env, { SVC_HOME, SVC_RUNTIME_DIR, HOME: join(link, "person") });
    place.env.TMPDIR = join(link, place.mkdir("tmp").slice(place.dir.length + 1));
    place.configure(
      '[sandbox]\nnetwork = "allowed"\nregistries = false\nallowed_hosts = ["allowed.example"]\n',
    );
    place.mkdir("project");
    let daemon = await place.serve();
    let client = await daemon.rpc();
    const id = await client.session({ workdir: join(link, "project"), ...MODEL });
    const ran = await instruct(client, id, "run echo kept >/tmp/kept; echo $HTTP_PROXY; pwd -P");
    assert(ran.ok, ran.output);
    assertStringIncludes(ran.output, "127.0.0.1");
    assertStringIncludes(ran.output, join(place.dir, "project"));
    const [home, run] = [join(place.dir, "home"), join(place.dir, "run")];
    for (const path of [home, run, SVC_HOME, SVC_RUNTIME_DIR]) {
      assert(Deno.statSync(path).isDirectory);
      const { output } = await instruct(client, id, `run ls -A '${path}'`);
      assert(!/daemon|svc\.sock/.test(output), output);
    }
    await client[Symbol.asyncDispose]();
    await daemon.stop();
    daemon = await place.serve();
    client = await daemon.rpc();
    await using _ = client;
    await client.rpc.call("session.subscribe", { session_id: id, since_seq: 0 });
    assertStringIncludes((await instruct(client, id, "run cat /tmp/kept")).output, "kept");
  },
});

Deno.test({
  name: "a command without a sandbox does not get the daemon's secrets either",
  ignore,
  async fn() {
    const key = "sk-ant-secret-of-the-daemon";
    const jailed = await begin({ ANTHROPIC_API_KEY: key }, '[sandbox]\nshell = "none"\n');
    try {
      const workdir = jailed.place.mkdir("project");
      const id = await jailed.client.session({ workdir, ...MODEL });
      const { output } = await instruct(jailed.client, id, "run env");
      assertStringIncludes(output, "PATH=");
      assert(!output.includes(key) && !output.includes("SVC_HOME"), output);
    } finally {
      await end(jailed);
    }
  },
});

Deno.test({
  name: "fetch_url does not reach the daemon under any name",
  ignore,
  async fn() {
    const jailed = await begin();
    const { daemon: { port, token }, place, client } = jailed;
    const ac = new AbortController();
    const redirect = Deno.serve(
      { hostname: "127.0.0.1", port: 0, signal: ac.signal, onListen: () => {} },
      () => Response.redirect(`http://127.0.0.1:${port}/v1/discover`),
    );
    try {
      const id = await client.session({ workdir: place.mkdir("project"), ...MODEL });
      const hosts = [
        ...[
          "127.0.0.1",
          "localhost",
          "LOCALHOST",
          "localhost.",
          "a.localhost",
          "127.1",
          "127.9.9.9",
        ],
        ...["2130706433", "0x7f000001", "0177.0.0.1", "0", "0.0.0.0", "[::1]", "[::]"],
        ...["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "%6cocalhost", "①②⑦.0.0.1"],
      ];
      const urls = hosts.map((host) => `http://${host}:${port}/v1/discover`);
      urls.push(`http://127.0.0.1:${redirect.addr.port}/`, `http://x@127.0.0.1:${port}/`);
      for (const url of urls) {
        const { ok, output, message } = await instruct(jailed.client, id, `fetch ${url}`);
        assertEquals(ok, false, `${url}: ${output}`);
        assert(!output.includes(token) && !output.includes("HTTP 2"), `${url}: ${output}`);
        assertStringIncludes(output, "cannot fetch");
        assertStringIncludes(message, output);
      }
    } finally {
      ac.abort();
      await redirect.finished;
      await end(jailed);
    }
  },
});
