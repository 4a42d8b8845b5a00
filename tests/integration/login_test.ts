/** `svc login`, `svc logout` and `svc models`, with a daemon that runs all the time. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { walk } from "@std/fs";
import { join } from "@std/path";
import { has_two_users, people } from "../attack/users.ts";
import { everyonesTemp } from "../support/everyone.ts";
import { startOpenAiServer } from "../support/model_servers.ts";
import { can_run_svc, Place, svcLine } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc;
const posix = Deno.build.os !== "windows";

/** A place whose OpenAI is a server of the test, which takes one key. */
function begin(parent?: string) {
  const api_key = `sk-${crypto.randomUUID()}`;
  const server = startOpenAiServer(() => ({ text: "hello" }), { api_key });
  const place = new Place({ OPENAI_BASE_URL: server.url }, { parent });
  place.configure(`[log]\nlevel = "debug"\n[cortex]\ncurator = false\n`);
  return {
    api_key,
    server,
    place,
    keys: join(place.home, "keys.json"),
    async [Symbol.asyncDispose]() {
      await place[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

/** The files below a directory that contain a text. */
async function filesWith(dir: string, text: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { path, isFile } of walk(dir, { includeDirs: false })) {
    if (!isFile) continue;
    const content = new TextDecoder("latin1").decode(await Deno.readFile(path));
    if (content.includes(text)) found.push(path);
  }
  return found.sort();
}

Deno.test({
  name: "a running daemon uses a key from svc login at once, and not after svc logout",
  ignore,
  async fn() {
    await using it = begin();
    const { place, api_key, server, keys } = it;
    const daemon = await place.serve();
    const workdir = place.mkdir("project");
    const ask = () => place.svc(["chat", workdir, "-m", "openai/gpt-5.1", "-p", "hi"]);

    const before = await ask();
    assertEquals(before.code, 1);
    assertStringIncludes(before.stderr, "run `svc login openai`, or set OPENAI_API_KEY");

    const wrong = await place.svc(["login", "openai", "--key-stdin"], {
      stdin: "sk-wrong-key-0\n",
    });
    assertEquals([wrong.code, wrong.stdout], [1, ""]);
    assertMatch(wrong.stderr, /openai answered 401: .*\. Check the key\n.*the key was not saved/);
    assertEquals(wrong.stderr.includes("sk-wrong-key-0"), false);

    const saved = await place.svc(["login", "openai", "--key-stdin"], { stdin: `${api_key}\n` });
    assertEquals([saved.code, saved.stderr], [0, ""]);
    assertStringIncludes(saved.stdout, `saved the key of openai in ${keys}`);
    if (posix) assertEquals(Deno.lstatSync(keys).mode! & 0o777, 0o600);
    assertEquals((await ask()).stdout, "hello\n");

    const models = JSON.parse((await place.svc(["models", "--json"])).stdout);
    const rest = await daemon.http("GET", "/v1/models?provider=openai");
    assertEquals(rest.json.models, [
      { id: "openai/scripted", default: false, images: false },
      models.models.find((model: { default: boolean }) => model.default),
    ]);
    assertMatch(models.default_model, /^openai\//);
    const state = rest.json.providers[0];
    assertEquals([state.address, state.key_from, state.problem], [server.url, "login", undefined]);
    const shown = (await place.svc(["models"])).stdout;
    assertMatch(shown, /^openai\/scripted +unknown +unknown/m);
    assertMatch(shown, /^openai\/gpt-\S+ \(default\) +[\d,]+ +[\d,]+ +\$/m);
    assertMatch(shown, /^anthropic: has no API key; run `svc login anthropic`/m);

    const out = await place.svc(["logout", "openai"]);
    assertEquals([out.code, out.stdout], [0, `removed the key of openai from ${keys}\n`]);
    assertStringIncludes((await ask()).stderr, "openai has no API key");
    assertEquals((await place.svc(["logout", "openai"])).code, 1);
    assertEquals((await daemon.http("GET", "/v1/health")).status, 200);
    assertEquals(daemon.pid, place.discovery().pid, "it is the same daemon");
  },
});

Deno.test({
  name: "a key that was saved is in no journal, log, index or answer",
  ignore,
  async fn() {
    await using it = begin();
    const { place, api_key, server, keys } = it;
    const daemon = await place.serve();
    const workdir = place.mkdir("project");
    await place.svc(["login", "openai", "--key-stdin"], { stdin: api_key });
    assertEquals((await place.svc(["chat", workdir, "-p", "hi"])).stdout, "hello\n");
    await using client = await daemon.rpc();
    const session_id = await client.session({ workdir, approval: "auto" });
    await client.turn(session_id, "again");
    // A key that the provider refuses: its answer repeats what it was sent.
    const refused = `sk-${crypto.randomUUID()}`;
    await place.svc(["login", "openai", "--no-check", "--key-stdin"], { stdin: refused });
    const { data } = await client.turn(session_id, "once more");
    assertStringIncludes(data.error, "openai answered 401");
    const answers = await Promise.all(
      ["models.list", "daemon.info", "daemon.get_config"].map((verb) => client.rpc.call(verb)),
    );
    const told = JSON.stringify([answers, client.events]);
    assertEquals([told.includes(api_key), told.includes(refused)], [false, false]);
    // The model's command sees neither the file nor, by any other way, the key.
    const shell = await client.session({ workdir, model: "builtin/toolbelt", approval: "auto" });
    await client.turn(shell, `run cat ${keys}; env; ls -la ${place.home}\nread ${keys}`);
    const { messages } = await client.rpc.call("session.transcript", { session_id: shell });
    assertEquals(JSON.stringify(messages).includes(refused), false);
    await daemon.stop();
    assertEquals(await filesWith(place.dir, refused), [keys]);
    assertEquals(await filesWith(place.dir, api_key), []);
    assert(server.requests.length > 0);
    // The scan finds a key where there is one.
    const planted = join(place.home, "log", "planted.ndjson");
    Deno.writeTextFileSync(planted, `{"message":"${api_key}"}\n`);
    assertEquals(await filesWith(place.dir, api_key), [planted]);
  },
});

Deno.test({
  name: "a key in the daemon's environment comes first, and svc login says so",
  ignore,
  async fn() {
    await using it = begin();
    const { place, api_key } = it;
    place.env.OPENAI_API_KEY = api_key;
    await place.serve();
    delete place.env.OPENAI_API_KEY;
    const args = ["login", "openai", "--no-check", "--key-stdin"];
    const { code, stdout } = await place.svc(args, { stdin: "sk-another-key" });
    assertEquals(code, 0);
    assertStringIncludes(
      stdout,
      "the daemon's environment also has a key (OPENAI_API_KEY), and that one is used",
    );
    const workdir = place.mkdir("project");
    assertEquals((await place.svc(["chat", workdir, "-p", "hi"])).stdout, "hello\n");
    const out = await place.svc(["logout", "openai"]);
    assertStringIncludes(out.stdout, "the daemon's environment still has a key");
  },
});

Deno.test({
  name: "svc login says what it lacks, and never takes a key as an argument",
  ignore,
  async fn() {
    await using it = begin();
    const { place, keys } = it;
    const refusals: [args: string[], stdin: string | undefined, code: number, said: string][] = [
      [["login"], undefined, 2, "svc login <provider>: anthropic, openai, google, openrouter"],
      [["login", "openai"], undefined, 2, "svc login openai --key-stdin < key.txt"],
      [["login", "openai", "sk-some-key"], undefined, 2, "sk-some-key"],
      [["login", "opnai", "--key-stdin"], "k", 1, 'did you mean "openai"?'],
      [["login", "ollama", "--key-stdin"], "k", 1, "ollama needs no API key"],
      [["login", "builtin", "--key-stdin"], "k", 1, "builtin"],
      [["login", "openai", "--key-stdin"], " \n", 1, "the key is empty"],
      [["login", "openai", "--key-stdin"], "two keys", 1, "contains a blank"],
      [["logout"], undefined, 1, "no key is saved"],
      [["models", "opnai"], undefined, 1, 'did you mean "openai"?'],
    ];
    for (const [args, stdin, code, said] of refusals) {
      const ran = await place.svc(args, { stdin });
      assertEquals([ran.code, ran.stderr.includes(said)], [code, true], `${args}: ${ran.stderr}`);
    }
    await it.server.close();
    const down = await place.svc(["login", "openai", "--key-stdin"], { stdin: "sk-some-key" });
    assertStringIncludes(down.stderr, "cannot reach");
    assertStringIncludes(down.stderr, "--no-check saves it without asking the provider");
    assertEquals([...Deno.readDirSync(place.home)].some(({ name }) => name === "keys.json"), false);
    assertEquals(keys.endsWith("keys.json"), true);
  },
});

Deno.test({
  name: "on a terminal the key is asked for, and what is typed is not shown",
  ignore: ignore || !has_tmux,
  async fn() {
    await using it = begin();
    const { place, api_key, keys, server } = it;
    await place.serve();
    await using terminal = await TmuxTerminal.open(place, { cols: 160 });
    const record = join(place.dir, "terminal.txt");
    await terminal.record(record);
    const line = (...args: string[]) => terminal.line(svcLine(...args));
    // Without a key, chat says how to log in: line by line, and on the whole screen.
    const advice = "no model has an API key yet; `svc login` saves one";
    await terminal.line(`TERM=dumb ${svcLine("chat", place.dir)}`);
    await terminal.shows(advice);
    await terminal.prompted();
    await terminal.line("/quit");
    await terminal.shows(/\/quit\s*\n[#$]/);
    await line("chat", place.dir);
    await terminal.shows("1  log in to a provider");
    await terminal.press("C-c");
    await terminal.shows("Ctrl-C again leaves");
    await terminal.press("C-c");
    await terminal.shows("The session continues. To return");
    await terminal.line("clear");
    await line("login");
    await terminal.shows("Log in to which provider?");
    await terminal.line("2");
    await terminal.shows(`API key of openai (${server.url}), not shown:`);
    await terminal.type(`nonsense`);
    await terminal.press("C-u");
    await terminal.type(`${api_key}x`);
    await terminal.press("BSpace", "Enter");
    await terminal.shows("saved the key of openai");
    assertEquals(JSON.parse(Deno.readTextFileSync(keys)).openai.api_key, api_key);

    await terminal.line("clear");
    await terminal.line(`TERM=dumb ${svcLine("chat", place.dir)}`);
    await terminal.shows("/help");
    const talk = await terminal.prompted();
    assertEquals([talk.includes("openai/"), talk.includes(advice)], [true, false]);
    await terminal.line("/quit");
    await terminal.shows(/\/quit\s*\n[#$]/);
    await line("login", "anthropic");
    await terminal.shows("API key of anthropic");
    await terminal.type("sk-ant");
    await terminal.press("C-c");
    // What is typed before the shell is back is lost with the mode of the terminal.
    await terminal.shows(/not shown:\s*\n[#$]/);
    // The terminal echoes again.
    await terminal.line("echo left-with-$?");
    await terminal.shows("echo left-with-");
    await terminal.shows("left-with-130");
    assertEquals(Object.keys(JSON.parse(Deno.readTextFileSync(keys))), ["openai"]);
    const shown = Deno.readTextFileSync(record);
    assertStringIncludes(shown, "not shown:");
    for (const hidden of [api_key, api_key.slice(0, 12), "nonsense", "sk-ant"]) {
      assertEquals(shown.includes(hidden), false, hidden);
    }
  },
});

Deno.test({
  name: "another user cannot read the keys, and a file that others can read is not used",
  ignore: ignore || !has_two_users,
  async fn() {
    await using it = begin(everyonesTemp());
    const { place, api_key, keys } = it;
    const { attacker } = people(place.mkdir("people"));
    Deno.chmodSync(place.dir, 0o755);
    const daemon = await place.serve();
    await place.svc(["login", "openai", "--key-stdin"], { stdin: api_key });
    const read = async () => (await attacker!.sh(`cat '${keys}'`)).includes(api_key);
    assertEquals(await read(), false);
    Deno.chmodSync(place.home, 0o755);
    assertEquals(await read(), false, "the file alone keeps them out");
    Deno.chmodSync(keys, 0o644);
    assertEquals(await read(), true, "the control: now they can");
    const { json } = await daemon.http("GET", "/v1/models?provider=openai");
    assertMatch(json.providers[0].problem, /keys\.json has mode 0644, wider than 0600/);
    Deno.chmodSync(place.home, 0o700);
    const again = await place.svc(["login", "openai", "--key-stdin"], { stdin: api_key });
    assertEquals(again.code, 1);
    assertStringIncludes(again.stderr, `chmod 0600 ${keys}`);
    const { stderr } = await place.svc(["chat", place.mkdir("p"), "-m", "openai/x", "-p", "hi"]);
    assertStringIncludes(stderr, "has mode 0644");
    Deno.chmodSync(keys, 0o600);
    const mended = await daemon.http("GET", "/v1/models?provider=openai");
    assertEquals(mended.json.providers[0].problem, undefined);
  },
});
