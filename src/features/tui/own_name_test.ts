import { assertEquals } from "@std/assert";
import { HELP } from "../../models/toolbelt.ts";
import type { Model } from "./model.ts";
import { Transcript } from "./transcript.ts";
import { Tui } from "./tui.ts";

Deno.test("what svc tells people to run has its own name; what a model says stays", () => {
  const named = (text: string) => text.replaceAll("`svc ", "`dist/svc ");
  const tui = new Tui("sess_00000000000000000000000000", { cols: 80, rows: 30 }, () => "id", named);
  tui.complain("no key: run `svc login`");
  tui.tell("`svc models` lists them");
  const shown = tui.model.entries.map(({ lines }) => lines.join("\n"));
  assertEquals(shown, ["no key: run `dist/svc login`", "`dist/svc models` lists them"]);
  const model = { ...tui.model, entries: [] } as Model;
  const transcript = new Transcript(model, named);
  const said = (type: string, data: unknown, seq: number) =>
    transcript.apply({ type, data, seq, at: "", session_id: model.session.id } as never);
  said("session.delta", { turn_id: "t", text: `type \`svc login\`\n\n${HELP}` }, 1);
  const [answer] = model.entries.map(({ lines }) => lines.join("\n"));
  assertEquals(answer.match(/`(dist\/)?svc [a-z]+/g), [
    "`svc login",
    "`dist/svc login",
    "`dist/svc models",
    "`dist/svc chat",
  ]);
});
