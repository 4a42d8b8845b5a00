/** `/permissions` and `/trust`, as they are typed in a chat. */
import { hookLines, trustedText } from "./trust_text.ts";
import type { CallVerb, Result } from "../verb_types.ts";

type Rule = Result<"permissions.list">["rules"][number];

const HELP = "/permissions test COMMAND tries one; allow RULE and deny RULE keep one for this " +
  "directory; remove ID removes one";

/** Shows the rules that hold in a session, tries a command line, adds or removes a rule. */
export async function runPermissions(
  line: string,
  session_id: string,
  call: CallVerb,
): Promise<string> {
  const [, word, rest = ""] = /^(\S*)\s*([^]*)$/.exec(line)!;
  if (word === "") return await listed(session_id, call);
  if (rest === "") return HELP;
  switch (word) {
    case "test":
      return await tried(rest, session_id, call);
    case "allow":
    case "deny": {
      const { workdir } = await call("session.get", { session_id });
      const place = { scope: "directory", directory: workdir } as const;
      const kept = await call("permissions.add", { action: word, rule: rest, ...place });
      return `${kept.rule_id}: ${word} ${kept.rule}, in ${workdir}`;
    }
    case "remove":
      return `removed ${(await call("permissions.remove", { rule_id: rest })).rule}`;
  }
  return HELP;
}

async function listed(session_id: string, call: CallVerb): Promise<string> {
  const found = await call("permissions.list", { session_id });
  const { rules, problem, untrusted = [] } = found;
  const lines = rules.map((it) =>
    `  ${it.action} ${it.rule} · ${whereOf(it)}${it.rule_id ? ` · ${it.rule_id}` : ""}`
  );
  return [
    rules.length === 0 ? "no rules; the approval mode decides" : "rules of this session:",
    ...lines,
    ...untrusted.map((rule) => `  needs /trust: allow ${rule}`),
    ...hookLines(found, "needs /trust").map((line) => `  ${line}`),
    ...(problem === undefined ? [] : [problem]),
    HELP,
  ].join("\n");
}

function whereOf({ source, directory, session_id }: Rule): string {
  if (source === "config") return "daemon.toml";
  if (source === "project") return "svc.permissions.toml";
  return session_id === undefined ? directory ?? "everywhere" : "this session";
}

async function tried(command: string, session_id: string, call: CallVerb): Promise<string> {
  const { decision, decided_by, rule, part, why, approval } = await call("permissions.test", {
    command,
    session_id,
  });
  const by = rule === undefined
    ? decided_by === "mode" ? `the approval mode ${approval}` : "an earlier answer"
    : `${rule.action} ${rule.rule}`;
  const because = [part, why].filter((it) => it !== undefined).join(": ");
  const outcome = { allow: "runs", ask: "asks", deny: "is refused" }[decision];
  return `${outcome}, by ${by}${because === "" ? "" : ` (${because})`}`;
}

/** Trusts the rules and hooks of the directory's own files, or takes that back. */
export async function runTrust(
  value: string,
  session_id: string,
  call: CallVerb,
): Promise<string> {
  if (value === "no") {
    const { directory } = await call("permissions.untrust", { session_id });
    return `${directory} is no longer trusted`;
  }
  if (value !== "") {
    return "/trust trusts this directory's own rules and hooks, /trust no takes that back";
  }
  return trustedText(await call("permissions.trust", { session_id }));
}
