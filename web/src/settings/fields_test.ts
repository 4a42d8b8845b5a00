import { assertEquals } from "@std/assert";
import { changesOf, type Config, GROUPS, inputsOf, wordOf } from "./fields.ts";

const CONFIG: Config = {
  path: "/home/me/.svc/daemon.toml",
  revision: "r",
  settings: {
    "agent.approval": { value: "auto", source: "file", default: "ask", restart: false },
    "agent.budget_usd": { source: "default", restart: false },
    "cortex.curator": { value: true, source: "default", default: true, restart: false },
    "sandbox.units": { value: 4, source: "file", default: 16, restart: true },
  },
};

Deno.test("only what was changed is written, and what was emptied is taken out", () => {
  const before = inputsOf(CONFIG);
  assertEquals([before["agent.approval"], before["cortex.curator"]], ["auto", ""]);
  assertEquals(changesOf(before, before), {});
  const inputs = {
    ...before,
    "agent.approval": "",
    "agent.budget_usd": " 2.5 ",
    "cortex.curator": "false",
    "sandbox.units": "many",
  };
  assertEquals(changesOf(before, inputs), {
    "agent.approval": null,
    "agent.budget_usd": 2.5,
    "cortex.curator": false,
    "sandbox.units": "many",
  });
});

Deno.test("a value is told in words", () => {
  const field = (key: string) =>
    GROUPS.flatMap(({ fields }) => fields).find((it) => it.key === key)!;
  assertEquals(wordOf(field("cortex.curator"), false), "Off");
  assertEquals(wordOf(field("agent.budget_usd"), undefined), "No limit");
  assertEquals(wordOf(field("agent.approval"), "read_only"), "Allow reading only");
  assertEquals(wordOf(field("agent.max_steps"), 50), "50");
});
