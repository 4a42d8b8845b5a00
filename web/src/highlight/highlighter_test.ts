import { assert, assertEquals } from "@std/assert";
import { CODE_MAX, Highlighter } from "./highlighter.ts";

/** A highlighter whose idle times the test gives; it cannot find the tokens of `bad`. */
function setUp(broken = false) {
  const idle: (() => void)[] = [];
  const found: string[] = [];
  let loads = 0;
  const highlighter = new Highlighter({
    load() {
      loads++;
      if (broken) return Promise.reject(new Error("no such file"));
      return Promise.resolve((code) => {
        found.push(code);
        if (code === "bad") return Promise.reject(new Error("it took too long"));
        return Promise.resolve([{ text: code, tone: "keyword" }]);
      });
    },
    whenIdle: (call) => void idle.push(call),
  });
  const taken: string[] = [];
  return {
    highlighter,
    found,
    taken,
    loads: () => loads,
    want: (code: string) =>
      highlighter.want(
        code,
        "ts",
        (tokens) =>
          taken.push(tokens.map(({ text, tone = "plain" }) => `${tone} ${text}`).join("")),
      ),
    /** Gives so many idle times. */
    async rest(times: number) {
      for (let n = 0; n < times; n++) {
        await settle();
        idle.shift()?.();
      }
      await settle();
    },
  };
}

/** Lets everything happen that waits for nothing else. */
async function settle(): Promise<void> {
  for (let n = 0; n < 20; n++) await Promise.resolve();
}

Deno.test("nothing is loaded before code is there; then one piece is drawn in each idle time", async () => {
  const { want, rest, taken, loads } = setUp();
  assertEquals(loads(), 0);
  for (const code of ["a", "b", "c"]) want(code);
  await rest(1);
  assertEquals(taken, ["keyword a"]);
  await rest(2);
  want("d");
  await rest(1);
  assertEquals([taken.length, loads()], [4, 1]);
});

Deno.test("what is no longer in sight is neither looked for nor drawn", async () => {
  const { want, rest, found, taken } = setUp();
  const forget = want("a");
  want("b")();
  want("c");
  await settle();
  forget();
  await rest(3);
  assertEquals([found, taken], [["a", "c"], ["keyword c"]]);
});

Deno.test("code is looked at once, and remembered as long as there is room", async () => {
  const { highlighter, want, rest, found } = setUp();
  want("a");
  want("a");
  await rest(2);
  assertEquals(found, ["a"]);
  assertEquals(highlighter.known("a", "ts"), [{ text: "a", tone: "keyword" }]);
  assertEquals(highlighter.known("a", "js"), undefined);
  for (let n = 0; n < 30; n++) want(`${n}`.padEnd(CODE_MAX, "x"));
  await rest(30);
  assertEquals(found.length, 31);
  assertEquals(highlighter.known("a", "ts"), undefined);
  assert(highlighter.known("29".padEnd(CODE_MAX, "x"), "ts") !== undefined);
});

Deno.test("code that is too long stays as it is", async () => {
  const { want, rest, found } = setUp();
  want("x".repeat(CODE_MAX + 1));
  await rest(1);
  assertEquals(found, []);
});

Deno.test("what cannot be highlighted is plain, is not tried again, and holds nothing up", async () => {
  const { want, rest, found, taken } = setUp();
  for (const code of ["bad", "a", "bad"]) want(code);
  await rest(3);
  assertEquals(taken, ["plain bad", "keyword a", "plain bad"]);
  assertEquals(found, ["bad", "a"]);
  const broken = setUp(true);
  broken.want("a");
  await broken.rest(1);
  assertEquals(broken.taken, ["plain a"]);
});
