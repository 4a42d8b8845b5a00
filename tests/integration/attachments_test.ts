/** Images and documents in sessions: kept, given to models, refused, left out. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { dirname, join } from "@std/path";
import type { Attachment } from "../../src/protocol/attachments.ts";
import { SvcError } from "../../src/protocol/errors.ts";
import { tinyGif, tinyPdf, tinyPng } from "../support/media.ts";
import type { Answer, Json, Scripted } from "../support/model_servers.ts";
import { type Provider, Scenario, type ScenarioOptions } from "../support/scripted.ts";
import { policyOf, stdioEntry } from "../support/tool_servers.ts";
import { can_run_svc } from "../support/svc.ts";

const POSIX = Deno.build.os !== "windows";
const ignore = !can_run_svc || !POSIX;
const PNG = tinyPng().toBase64();
const sees = (provider: Provider): ScenarioOptions => ({ provider, toml: "images = true\n" });

const reads = (path: string) => ({
  calls: [{ id: `c_${path.replaceAll(/\W/g, "_")}`, name: "read_file", args: { path } }],
});

/** One step a request; those of the kit go by the first message, whose lines change here. */
function inOrder(steps: readonly (Answer | Scripted)[]): Scripted {
  let at = 0;
  return (request) => {
    const step = steps[at++];
    return typeof step === "function" ? step(request) : step;
  };
}

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ignore, fn });
}

/** Sends a message with attachments and waits for the end of its turn. */
async function turn(it: Scenario, text: string, attachments: Json[] = []): Promise<Json> {
  const { seq } = await it.call("session.send", { text, attachments });
  return (await it.event("turn.completed", (event) => event.seq > seq)).data;
}

/** The conversation as a provider was sent it, without its marks for the cache. */
function sent(it: Scenario, at: number): string {
  const { messages, contents } = it.server.requests.at(at)!.body;
  const text = JSON.stringify(messages ?? contents);
  return text.replaceAll(',"cache_control":{"type":"ephemeral"}', "").slice(0, -1);
}

function folder(it: Scenario): string {
  return join(it.workdir, ".svc", "sessions", it.session_id, "attachments");
}

for (const provider of ["openai-compatible", "anthropic", "google"] as const) {
  test(`an image is the same after a kill, and a damaged one is told (${provider})`, async () => {
    const steps = [reads("shot.txt"), { text: "Red." }, { text: "Still red." }, { text: "Gone." }];
    await using it = await Scenario.begin(inOrder(steps), sees(provider));
    Deno.writeFileSync(join(it.workdir, "shot.txt"), tinyPng({ width: 2 }));
    await turn(it, "Look.", [{ data: PNG, media_type: "image/png", name: "../a\nshot.png" }]);
    const message = await it.event("user.message");
    const [first] = message.data.attachments as Attachment[];
    assertEquals(first, {
      hash: first.hash,
      media_type: "image/png",
      name: "a shot.png",
      bytes: tinyPng().length,
    });
    const done = await it.event("session.tool_completed");
    const [second] = done.data.attachments as Attachment[];
    assertEquals(done.data.output, "[image: shot.txt, 69 bytes]");

    // The bytes are in no event, in one file each, for their owner alone.
    const journal = Deno.readTextFileSync(join(dirname(folder(it)), "journal.ndjson"));
    assert(!journal.includes(PNG));
    assertEquals([...Deno.readDirSync(folder(it))].length, 2);
    assertEquals(Deno.statSync(folder(it)).mode! & 0o777, 0o700);
    assertEquals(Deno.statSync(join(folder(it), first.hash)).mode! & 0o777, 0o600);
    const path = join(folder(it), second.hash);
    const own = () => it.call("session.send", { text: "look", attachments: [{ path }] });
    await assertRejects(own, SvcError, "is not accessible to tools");
    const { data } = await it.call("session.attachment", { hash: second.hash });
    assertEquals(data, tinyPng({ width: 2 }).toBase64());

    await it.restart();
    await turn(it, "Sure?", [{ data: PNG }]);
    assertEquals([...Deno.readDirSync(folder(it))].length, 2, "the same bytes are kept once");
    const [before, after] = [sent(it, -2), sent(it, -1)];
    assertStringIncludes(before, PNG);
    assertStringIncludes(before, tinyPng({ width: 2 }).toBase64());
    assertEquals(after.slice(0, before.length), before);

    const file = join(folder(it), second.hash);
    Deno.writeFileSync(file, tinyPng({ width: 3 }));
    Deno.removeSync(join(folder(it), first.hash));
    await new Deno.Command("mkfifo", { args: [join(folder(it), first.hash)] }).output();
    const { stop_reason } = await turn(it, "And now?");
    assertEquals(stop_reason, "ok");
    assertStringIncludes(sent(it, -1), "shot.txt, 69 bytes; its file is missing or damaged");
    assertStringIncludes(sent(it, -1), "a shot.png, 69 bytes; its file is missing or damaged");
    assert(!sent(it, -1).includes(PNG.slice(0, 40)));
    for (const hash of [first.hash, second.hash]) {
      await assertRejects(() => it.call("session.attachment", { hash }), SvcError, "has no attach");
    }
  });
}

test("a model that cannot see is told what there is", async () => {
  await using it = await Scenario.begin([reads("a.png"), { text: "I cannot see it." }]);
  Deno.writeFileSync(join(it.workdir, "a.png"), tinyPng());
  await turn(it, "Look.", [{ data: tinyPdf().toBase64(), name: "paper.pdf" }]);
  const note = "this model cannot see images or documents";
  assertStringIncludes(sent(it, -1), `[PDF: paper.pdf, 189 bytes; ${note}]`);
  assertStringIncludes(sent(it, -1), `[image: a.png, 69 bytes; ${note}]`);
});

test("what is no image, too large or out of reach is refused, and nothing is kept", async () => {
  await using it = await Scenario.begin([], sees("openai-compatible"));
  const { workdir, place } = it;
  const svg = new TextEncoder().encode("<svg onload='x()'/>");
  Deno.writeFileSync(join(workdir, "image.svg"), svg);
  Deno.writeFileSync(join(workdir, "large.png"), tinyPng({ bytes: 10_000_000 }));
  Deno.writeFileSync(join(workdir, "bomb.png"), tinyPng({ width: 100_000, height: 100_000 }));
  Deno.writeFileSync(join(place.dir, "outside.png"), tinyPng());
  Deno.symlinkSync(join(place.dir, "outside.png"), join(workdir, "link.png"));
  await new Deno.Command("mkfifo", { args: [join(workdir, "pipe.png")] }).output();
  const own = `.svc/sessions/${it.session_id}/journal.ndjson`;
  const middle = tinyPng({ bytes: 3_000_000 }).toBase64();
  const cases: [Json[], string][] = [
    [[{ path: "image.svg" }], "is not a PNG"],
    [[{ path: "large.png" }], "is an image of 10.0 MB; a model can be given at most 3.9 MB"],
    [[{ path: "bomb.png" }], "100000 × 100000 pixels"],
    [[{ path: "../outside.png" }], "outside"],
    [[{ path: join(place.dir, "outside.png") }], "outside"],
    [[{ path: join(place.dir, "home", "daemon.json") }], "outside"],
    [[{ path: "link.png" }], "link.png"],
    [[{ path: "pipe.png" }], "not a regular file"],
    [[{ path: own }], "is not accessible to tools"],
    [[{ path: "missing.png" }], "no such file"],
    [[{ path: "" }], "the path is empty"],
    [[{ data: PNG, media_type: "image/jpeg" }], "is image/png, not image/jpeg"],
    [[{ data: PNG, media_type: "image/svg+xml" }], "is image/png, not image/svg+xml"],
    [[{ data: svg.toBase64(), media_type: "image/png" }], "is not a PNG"],
    [[{ data: PNG.slice(0, -1) }], "not valid base64"],
    [[{ data: `data:image/png;base64,${PNG}` }], "not valid base64"],
    [[{ data: PNG, path: "a.png" }], "either path or data"],
    [[{}], "either path or data"],
    [Array(100).fill({ data: PNG }), "at most 20 attachments"],
    [[{ data: PNG }, { data: middle }, { data: middle }], "more than 5.5 MB"],
  ];
  for (const [attachments, why] of cases) {
    const error = await assertRejects(
      () => it.call("session.send", { text: "look", attachments }),
      SvcError,
    );
    const said = JSON.stringify([error.message, error.hint, error.details]);
    assertStringIncludes(said, why, JSON.stringify(attachments).slice(0, 200));
    assertEquals(error.code, "validation");
  }
  assertEquals(it.types().filter((type) => type === "user.message"), []);
  assert(!exists(folder(it)));
});

test("what cannot be kept is not sent, and a result says so", async () => {
  const steps = [reads("a.png"), { text: "I cannot see it." }];
  await using it = await Scenario.begin(inOrder(steps), sees("anthropic"));
  Deno.writeFileSync(join(it.workdir, "a.png"), tinyPng());
  Deno.writeTextFileSync(folder(it), "in the way");
  const error = await assertRejects(
    () => it.call("session.send", { text: "look", attachments: [{ data: PNG }] }),
    SvcError,
    "cannot keep the attachments",
  );
  assertStringIncludes(error.hint!, "nothing was sent");
  await turn(it, "read it", []);
  assertEquals(it.client.of("user.message").map(({ data }) => data.text), ["read it"]);
  const { data } = await it.event("session.tool_completed");
  assertEquals([data.ok, data.attachments], [false, undefined]);
  assertStringIncludes(data.output, "its images could not be kept");
});

test("a path is not read for a session that works for others", async () => {
  const start = { trust: "untrusted" };
  await using it = await Scenario.begin([{ text: "Red." }], { ...sees("anthropic"), start });
  Deno.writeFileSync(join(it.workdir, "a.png"), tinyPng());
  const refused = await assertRejects(
    () => it.call("session.send", { text: "look", attachments: [{ path: "a.png" }] }),
    SvcError,
  );
  assertEquals(refused.code, "permission_denied");
  await turn(it, "look", [{ data: PNG }]);
  assertStringIncludes(sent(it, -1), PNG);
});

test("the oldest images are left out when there are too many, and can be read again", async () => {
  const again = ({ messages }: { messages: Json[] }) => {
    const seq = /image-1\.png[^\]]*with seq (\d+)/.exec(JSON.stringify(messages))?.[1];
    return { calls: [{ id: "c_again", name: "read_earlier", args: { seq: Number(seq) } }] };
  };
  const steps = [{ text: "1" }, { text: "2" }, again, { text: "Seen again." }];
  await using it = await Scenario.begin(inOrder(steps), sees("anthropic"));
  const images = (count: number, from: number) =>
    Array.from({ length: count }, (_, n) => ({
      data: tinyPng({ width: from + n }).toBase64(),
      name: `image-${from + n}.png`,
    }));
  await turn(it, "first", images(2, 1));
  await turn(it, "second", images(10, 3));
  const { stop_reason } = await turn(it, "third", images(20, 13));
  assertEquals(stop_reason, "ok");
  const [one, two, three, four] = [0, 1, 2, 3].map((at) => shown(sent(it, at)));
  assertEquals([one, two, three], [2, 12, 20]);
  const { data: { reason, attachments } } = await it.event("session.compacted");
  assertEquals([reason, attachments.from_seq], ["attachments", 0]);
  assertStringIncludes(sent(it, 2), "[image: image-1.png, 69 bytes; left out to save room; ");
  // Two more than a request may have: those of the newest message are left out for them.
  assertEquals(four, 2);
  assertStringIncludes(sent(it, 3), tinyPng({ width: 1 }).toBase64());
});

test("an image of a tool server is given to the model", async () => {
  const call = { name: "mcp_prog_picture", args: { data: PNG } };
  const steps = [{ calls: [call] }, { text: "Red." }];
  const policy = policyOf(stdioEntry("prog", { trust: "trusted" }));
  await using it = await Scenario.begin(inOrder(steps), { ...sees("anthropic"), policy });
  await turn(it, "look");
  const { data } = await it.event("session.tool_completed");
  assertStringIncludes(data.output, "[image: image-1.png, 69 bytes]\n[resource file:///a.txt");
  assertEquals(data.attachments.length, 1);
  assertEquals(shown(sent(it, -1)), 1);
});

test("svc chat -p sends files with the prompt, and refuses what is none", async () => {
  const steps = [{ text: "Red." }, { text: "A page." }];
  await using it = await Scenario.begin(inOrder(steps), sees("anthropic"));
  const { dir } = it.place;
  const files = { png: tinyPng(), pdf: tinyPdf(), svg: new TextEncoder().encode("<svg/>") };
  for (const [name, bytes] of Object.entries(files)) {
    Deno.writeFileSync(join(dir, `file.${name}`), bytes);
  }
  await new Deno.Command("mkfifo", { args: [join(dir, "pipe.png")] }).output();
  const ask = (...names: string[]) => {
    const flags = names.flatMap((name) => ["--attach", join(dir, name)]);
    return it.place.svc(["chat", "--session", it.session_id, "-p", "look", ...flags]);
  };
  const { code, stdout } = await ask("file.png", "file.pdf");
  assertEquals([code, stdout], [0, "Red.\n"]);
  assertStringIncludes(sent(it, -1), PNG);
  assertStringIncludes(sent(it, -1), tinyPdf().toBase64());
  assertStringIncludes(sent(it, -1), "look\\n\\n[image: file.png, 69 bytes]\\n[PDF: file.pdf");
  for (
    const [name, why] of [
      ["file.svg", "is not a PNG, JPEG, GIF or WebP image and not a PDF"],
      ["pipe.png", "is not a regular file"],
      ["none.png", "No such file"],
    ]
  ) {
    const { code, stderr } = await ask(name);
    assertEquals(code, 2);
    assertStringIncludes(stderr, why);
  }
});

function shown(request: string): number {
  return request.split('"type":"image"').length - 1;
}

test("an image that the provider refuses does not end the session", async () => {
  const refusal = { status: { code: 400, message: "messages.0: Could not process image" } };
  const steps = [{ text: "Red." }, refusal, { text: "I see one." }, refusal, { text: "None." }, {
    text: "Yes.",
  }];
  await using it = await Scenario.begin(inOrder(steps), sees("anthropic"));
  await turn(it, "first", [{ data: PNG, name: "good.png" }]);
  assertEquals(
    (await turn(it, "second", [{ data: tinyGif().toBase64(), name: "bad.gif" }])).message,
    "I see one.",
  );
  const note = "bad.gif, 43 bytes; left out because the provider refused it";
  assertStringIncludes(sent(it, 2), note);
  assertStringIncludes(sent(it, 2), PNG);
  // Another model may refuse what the one before it took.
  assertEquals((await turn(it, "third")).message, "None.");
  assert(!sent(it, 4).includes(PNG));
  await it.restart();
  await turn(it, "fourth");
  assertEquals(sent(it, -1).slice(0, sent(it, 4).length), sent(it, 4));
});

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
