/** Each setting that claims to need no restart holds for what begins after it was changed. */
import { assertEquals, assertNotEquals } from "@std/assert";
import { delay } from "@std/async";
import { settingsOf } from "../../src/config/section.ts";
import { SETTINGS, type SettingValue } from "../../src/config/settings.ts";
import { SECTIONS } from "../../src/features/registry.ts";
import type { Answer, Scripted } from "../support/model_servers.ts";
import { programPath } from "../support/programs.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

/** What shows a setting at work. */
interface Probe {
  /** Another value than the one before. */
  value: SettingValue;
  /** What is seen with the value before, and with the new one. */
  seen: [unknown, unknown];
  look(it: Scenario, listener: Deno.TcpListener): Promise<unknown>;
}

const STEPS = 3;
/** Settings that the tests' daemon.toml has. */
const BEFORE: Record<string, SettingValue> = { "agent.max_steps": STEPS, "agent.titles": false };
const FACT = "the vault is behind the painting";

/** Asks for a tool as long as it is told to, and costs something. */
const model: Scripted = ({ messages }): Answer => {
  const asked = messages.findLast(({ role }) => role === "user");
  const usage = { input: 1_000, output: 1_000 };
  if (asked?.role === "user" && asked.text.startsWith("go on")) {
    return { calls: [{ name: "list_dir", args: {} }], usage };
  }
  if (asked?.role === "user" && asked.text.startsWith("delegate")) {
    const call = (n: number) => ({
      id: `agent_${n}`,
      name: "agent",
      args: { description: `task ${n}`, task: "take your time" },
    });
    return messages.at(-1) === asked ? { calls: [1, 2, 3].map(call), usage } : { text: "Done." };
  }
  if (asked?.role === "user" && asked.text.startsWith("take your time")) {
    return { text: ["One ", "two ", "three ", "four."], pace_ms: 500, usage };
  }
  return { text: "Done.", usage };
};

/** A session of its own, with what the settings give it. */
async function session(it: Scenario, params: Record<string, unknown> = {}): Promise<string> {
  const workdir = it.place.mkdir(`work-${crypto.randomUUID()}`);
  return await it.client.session({ workdir, ...params });
}

const toolbelt = { model: "builtin/toolbelt", approval: "auto" };

/** What one instruction gave, in a session of its own. */
async function outputOf(it: Scenario, text: string): Promise<string> {
  const id = await session(it, toolbelt);
  await it.client.turn(id, text);
  const done = it.client.events.find((event) =>
    event.session_id === id && event.type === "session.tool_completed"
  );
  return done!.data.output as string;
}

/** What a turn with three subagents recorded of them. */
async function subagentEvents(it: Scenario) {
  const id = await session(it, { model: it.model, approval: "auto" });
  await it.client.turn(id, "delegate");
  return it.client.events.filter((event) =>
    event.session_id === id && ["subagent.started", "subagent.completed"].includes(event.type)
  );
}

/** What a shell of a command says of a limit. */
function limit(value: number, name: string, before: string, after: string): Probe {
  return {
    value,
    seen: [before, after],
    look: async (it) => (await outputOf(it, `run bash -c 'ulimit -${name}'`)).split("\n")[0],
  };
}

/** They need a sandbox. */
const JAILED = ["sandbox.network", "sandbox.max_processes"];

const PROBES: Record<string, Probe> = {
  "default_model": {
    value: "builtin/toolbelt",
    seen: ["local/model-1", "builtin/toolbelt"],
    look: async (it) =>
      (await it.client.rpc.call("session.get", { session_id: await session(it) })).model,
  },
  "default_workdir": {
    value: "/usr",
    seen: [false, true],
    look: async (it) => (await it.client.rpc.call("daemon.list_dirs")).path === "/usr",
  },
  "agent.approval": {
    value: "read_only",
    seen: ["ask", "read_only"],
    look: async (it) =>
      (await it.client.rpc.call("session.get", { session_id: await session(it) })).approval,
  },
  "agent.effort": {
    value: "high",
    seen: ["default", "high"],
    look: async (it) =>
      (await it.client.rpc.call("session.get", { session_id: await session(it) })).effort,
  },
  "agent.max_steps": {
    value: STEPS - 1,
    seen: [STEPS, STEPS - 1],
    async look(it) {
      const id = await session(it, { model: it.model, approval: "auto" });
      const before = it.asked.length;
      await it.client.turn(id, "go on");
      return it.asked.length - before;
    },
  },
  "agent.budget_usd": {
    value: 0,
    seen: ["ok", "refused"],
    async look(it) {
      const id = await session(it, { model: it.model, approval: "auto" });
      const send = () => it.client.turn(id, "hello");
      return await send().then(({ data }) => data.stop_reason, () => "refused");
    },
  },
  "agent.titles": {
    value: true,
    seen: [false, true],
    async look(it) {
      const id = await session(it, { model: it.model, approval: "auto" });
      await it.client.turn(id, "hello");
      const titled = () =>
        it.client.events.some((event) =>
          event.session_id === id && event.type === "session.titled"
        );
      for (let n = 0; n < 40 && !titled(); n++) await delay(50);
      return titled();
    },
  },
  "subagents.per_turn": {
    value: 1,
    seen: [3, 1],
    async look(it) {
      const events = await subagentEvents(it);
      return events.filter(({ type }) => type === "subagent.started").length;
    },
  },
  "subagents.parallel": {
    value: 1,
    seen: [false, true],
    async look(it) {
      const [, second] = await subagentEvents(it);
      return second.type === "subagent.completed";
    },
  },
  "subagents.timeout_s": {
    value: 1,
    seen: [true, false],
    async look(it) {
      const events = await subagentEvents(it);
      return events.some(({ data }) => data.stop_reason === "ok");
    },
  },
  "journal.retention_mb": {
    value: 0.02,
    seen: [false, true],
    async look(it) {
      const id = await session(it, toolbelt);
      const rewritten = () => it.client.rpc.call("session.get", { session_id: id });
      for (let n = 0; n < 12; n++) {
        await it.client.turn(id, "run head -c 9000 /dev/zero | tr '\\0' a");
      }
      const { workdir } = await rewritten();
      const journal = `${workdir}/.svc/sessions/${id}/journal.ndjson`;
      for (let n = 0; n < 60; n++) {
        if (Deno.readTextFileSync(journal).includes('"kind":"session.checkpoint"')) return true;
        const { settings } = await it.client.rpc.call("daemon.get_config");
        if (settings["journal.retention_mb"].value === 100) return false;
        await it.client.turn(id, "run true");
      }
    },
  },
  "sandbox.network": {
    value: true,
    seen: [false, true],
    async look(it, listener) {
      const { port } = listener.addr;
      const connect = `run bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port} && echo connected'`;
      return (await outputOf(it, connect)).includes("connected");
    },
  },
  // Eight processes and threads for each process.
  "sandbox.max_processes": limit(64, "u", "4096", "512"),
  "sandbox.max_memory_mb": limit(2048, "d", "unlimited", "2097152"),
  "sandbox.max_open_files": limit(256, "n", "16384", "256"),
  "sandbox.max_file_mb": limit(5, "f", "33554432", "5120"),
  "tasks.budget_usd": {
    value: 3,
    seen: [5, 3],
    look: async (it) => (await it.client.rpc.call("task.capabilities")).budget_usd,
  },
  "cortex.recall_tokens": {
    value: 0,
    seen: [true, false],
    async look(it) {
      await outputOf(it, `remember preference: ${FACT}`);
      const id = await session(it, { model: it.model, approval: "auto" });
      await it.client.turn(id, "where is the vault?");
      return JSON.stringify(it.asked.at(-1)).includes(FACT);
    },
  },
};

/**
 * Seen at work in tests of their own: at the next look at old journals, after the end of a turn or of
 * the daemon, with a command that wants out or fills its directories, in a terminal.
 */
const ELSEWHERE = [
  "agent.continue",
  "agent.critic",
  "journal.retention_hours",
  "cortex.curator",
  "notifications.after_s",
  "notifications.desktop",
  "notifications.turn_s",
  "sandbox.registries",
  "sandbox.max_tmp_mb",
  "sandbox.max_cache_mb",
  "terminal.mouse",
  "terminal.plain",
  "terminal.reduced_motion",
  "terminal.theme",
  "terminal.vi_keys",
];

Deno.test("each setting that claims to need no restart is looked at", () => {
  const settings = Object.entries({ ...SETTINGS, ...settingsOf(SECTIONS) });
  const claimed = settings.flatMap(([key, { restart }]) => restart ? [] : key);
  assertEquals([...Object.keys(PROBES), ...ELSEWHERE].sort(), claimed.sort());
});

for (const [key, { value, seen, look }] of Object.entries(PROBES)) {
  Deno.test({
    name: `${key} holds as soon as it is changed, and so does its default again`,
    ignore: !can_run_svc || (JAILED.includes(key) && programPath("bwrap") === undefined),
    async fn() {
      assertNotEquals(seen[0], seen[1]);
      using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const toml = 'small = "model-1"\n' +
        `[agent]\nmax_steps = ${STEPS}\n[prices."local/model-1"]\ninput = 1\noutput = 1\n`;
      await using it = await Scenario.begin(model, { toml });
      const set = (to: SettingValue | null) =>
        it.client.rpc.call("daemon.set_config", { changes: { [key]: to } });
      const before = BEFORE[key] ?? null;
      if (key === "default_model") await set(it.model);
      assertEquals(await look(it, listener), seen[0]);
      await set(value);
      assertEquals(await look(it, listener), seen[1]);
      await set(key === "default_model" ? it.model : before);
      assertEquals(await look(it, listener), seen[0]);
    },
  });
}
