import { argument, command, group, JSON_FLAG as json, option, spec, TEXT } from "../define.ts";
import { SUMMARIES } from "./summaries.ts";

export const EXPORT = spec({
  summary: "Write a session's journal to a file, signed with a key of this machine",
  args: { session_id: argument(TEXT, "The session") },
  flags: {
    output: option(TEXT, "file", "Where to write it; <session>.ledger by default, - for stdout", {
      short: "o",
    }),
  },
});
export const VERIFY = spec({
  summary: "Check a ledger: its signature, and that no record is missing or changed",
  about: "Needs no daemon, and works on any machine.",
  args: { file: argument(TEXT, "The ledger") },
  flags: {
    key: option(TEXT, "key", "The public key that must have signed it, or a file with it"),
    json,
  },
  examples: [
    ["svc ledger export sess_01… -o run.ledger", "On the machine where the session ran"],
    ['svc ledger verify run.ledger --key "ssh-ed25519 AAAA…"', "Anywhere"],
  ],
});
export const KEY = spec({
  summary: "Print the public key of this machine",
  flags: { json },
});

const implementation = () => import("../ledger.ts");

export const ledger = group({ summary: SUMMARIES.ledger }, {
  export: command(EXPORT, async () => (await implementation()).exportLedger),
  verify: command(VERIFY, async () => (await implementation()).verify),
  key: command(KEY, async () => (await implementation()).key),
});
