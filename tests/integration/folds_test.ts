/** `dev.sh check` refuses a second fold of the events of a session. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { granted } from "../support/permissions.ts";

const ignore = !granted("read", "env");
const ROOT = fromFileUrl(new URL("../..", import.meta.url));
const KINDS = new Set(["turn.started", "turn.completed", "cost.tick", "lane.note"]);

/** Loaded by the tests: the compiler in it asks for variables at once. */
const check = () => import("../../install/folds.ts");

Deno.test("events are folded in src/session alone", { ignore }, async () => {
  await (await check()).requireOneFold(ROOT);
});

Deno.test("each way to write a second fold is refused", { ignore }, async () => {
  const { foldsIn } = await check();
  const seeds = [
    `function show(event: Event) {
      switch (event.type) {
        case "turn.started": return 1;
        case "turn.completed": return 2;
        case "cost.tick": return 3;
      }
    }`,
    `const show = ({ type }: Event) =>
      type === "turn.started" ? 1 : type === "turn.completed" ? 2 : type !== "cost.tick" ? 3 : 4;`,
    `const SHOWN = {
      "turn.started": () => 1,
      "turn.completed": () => 2,
      "cost.tick"() { return 3; },
    };`,
    `class View {
      apply(event: Event) {
        if (event.type === "turn.started") return 1;
        const later = () => event.type === "turn.completed" || event.type === "cost.tick";
      }
    }`,
  ];
  for (const seed of seeds) {
    for (const file of ["src/features/a/show.ts", "web/src/show.tsx", "src/cli/show.ts"]) {
      const [told, ...others] = foldsIn(file, seed, KINDS);
      assertEquals(others, []);
      assertStringIncludes(told, `${file}:`);
      assertStringIncludes(told, "tells 3 kinds of events apart");
    }
    assertEquals(foldsIn("src/session/show.ts", seed, KINDS), []);
  }
});

Deno.test("an observer is not refused; an exception needs a reason and a fold", {
  ignore,
}, async () => {
  const { foldsIn } = await check();
  const fold = `function show(type: string) {
    return type === "turn.started" || type === "turn.completed" || type === "cost.tick";
  }`;
  const two = fold.replace(' || type === "cost.tick"', "");
  assertEquals(foldsIn("src/cli/a.ts", two, KINDS), []);
  assertEquals(foldsIn("src/cli/a.ts", `// fold-ok: not what is shown\n${fold}`, KINDS), []);
  assertEquals(foldsIn("src/cli/a.ts", `// fold-ok:\n${fold}`, KINDS).length, 1);
  assertEquals(foldsIn("src/cli/a.ts", `// fold-ok: not what is shown\n${two}`, KINDS), [
    "src/cli/a.ts:1: a needless fold-ok",
  ]);
});
