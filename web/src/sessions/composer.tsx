import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { visible } from "../../../src/base/visible.ts";
import type { CallVerb } from "../../../src/features/verb_types.ts";
import { personCommand } from "../../../src/protocol/person_command.ts";
import { type App, useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { enter_sends, isSend } from "../session/send_key.tsx";
import { Button } from "../ui/button.tsx";
import { Picker } from "../ui/picker.tsx";
import { type Approval, APPROVAL_WORDS } from "./approval.ts";
import { directoriesFor } from "./directories.ts";
import { nameOf, recentDirectories } from "./groups.ts";
import { ModelPicker } from "./model_picker.tsx";
import { choose, new_session } from "./new_session.ts";

/** Takes what a new session is to do, and where, by which model, and what it may; starts it. */
export function NewSession({ info }: { info: Result<"daemon.info"> | undefined }) {
  const app = useApp();
  const { client, composing, router, sessions } = app;
  const box = useRef<HTMLTextAreaElement>(null);
  const busy = useSignal(false);
  /** What the last command had to say. */
  const said = useSignal("");
  /** How often a directory was asked for. */
  const asked = useSignal(0);
  const { text, model, approval, workdir: chosen } = new_session.value;
  const recent = recentDirectories(sessions.items.value ?? []);
  // Another session's event must not change under somebody's hands where theirs will work.
  const first = useRef(recent[0]);
  first.current ??= recent[0];
  const workdir = chosen ?? first.current;
  useEffect(() => {
    if (composing.value > 0) box.current!.focus();
  }, [composing.value]);
  /** Answers a command that needs no session. @returns whether it was one */
  const answer = async (line: string, text: string) => {
    const { answerFirst } = await app.load(() => import("../session/on_demand.ts"));
    const call: CallVerb = (name, params) => client.ask(name, params);
    const now = { model: model ?? info?.default_model ?? "default", approval, workdir };
    const answered = await answerFirst(line, now, call);
    if (answered === undefined) return false;
    said.value = visible(answered.said);
    choose({ ...answered.choose, text: leftAfter(text) });
    box.current?.focus();
    return true;
  };
  const start = async () => {
    const message = text.trim();
    if (message === "" || busy.value) return;
    said.value = "";
    const run = personCommand(text);
    const command = run !== undefined || message.startsWith("/");
    if (command && run === undefined) {
      busy.value = true;
      let answered = true;
      await app.attempt(async () => {
        answered = await answer(message, text);
      });
      busy.value = false;
      if (answered) return;
    }
    if (workdir === undefined) {
      asked.value++;
      return;
    }
    busy.value = true;
    await app.attempt(async () => {
      const { session_id } = await client.call("session.start", {
        workdir,
        approval,
        ...(model && { model }),
        ...(!command && { prompt: text }),
      });
      const said = command ? await runFirst(message, run, session_id, app) : "";
      choose({ text: leftAfter(text), workdir });
      router.go(`/sessions/${session_id}`, { said });
      sessions.refresh();
    });
    busy.value = false;
  };
  return (
    <div class="composer-frame">
      <div class="composer new-session">
        {said.value !== "" && <pre class="composer-said" role="status" tabIndex={0}>{said}</pre>}
        <label class="visually-hidden" for="new-session">New session</label>
        <textarea
          ref={box}
          id="new-session"
          dir="auto"
          rows={Math.min(12, Math.max(3, text.split("\n").length))}
          placeholder="What should the agent do?"
          enterkeyhint={enter_sends.value ? "send" : "enter"}
          value={text}
          onInput={({ currentTarget }) => choose({ text: currentTarget.value })}
          onKeyDown={(event) => {
            if (!isSend(event, enter_sends.value)) return;
            event.preventDefault();
            start();
          }}
        />
        <div class="composer-foot">
          <Picker
            label="Directory"
            text={workdir === undefined ? "Choose a directory" : nameOf(workdir)}
            title={workdir}
            icon="folder"
            placeholder="Type a name, or a path from /"
            options={(query) =>
              directoriesFor(
                query,
                recent,
                (path, hidden) => client.ask("daemon.list_dirs", { path, hidden }),
              )}
            opened={asked.value}
            onPick={(workdir) => {
              choose({ workdir });
              box.current!.focus();
            }}
          />
          <ModelPicker
            model={model ?? info?.default_model}
            info={info}
            onPick={(id) => choose({ model: id === info?.default_model ? undefined : id })}
          />
          <select
            class="composer-chip"
            aria-label="Approvals"
            value={approval}
            onChange={({ currentTarget }) => choose({ approval: currentTarget.value as Approval })}
          >
            {Object.entries(APPROVAL_WORDS).map(([it, text]) => (
              <option key={it} value={it}>{text}</option>
            ))}
          </select>
          <Button
            tone="primary"
            icon="send"
            onClick={start}
            disabled={text.trim() === ""}
            aria-busy={busy.value}
          >
            Start
          </Button>
        </div>
      </div>
    </div>
  );
}

/** What is written now, without what was sent: what was written meanwhile is for another one. */
function leftAfter(sent: string): string {
  const { text } = new_session.peek();
  return text === sent ? "" : text;
}

/**
 * As `runCommand`; where it fails, nothing is left of the session, and the line stays in the box.
 *
 * @param run a command of the person's own, instead of the line
 * @returns what to tell the person
 */
async function runFirst(
  line: string,
  run: string | undefined,
  session_id: string,
  app: App,
): Promise<string> {
  try {
    if (run === undefined) return await runCommand(line, session_id, app);
    await app.client.call("session.send", { session_id, text: run, run: true });
    return "";
  } catch (error) {
    await app.client.call("session.delete", { session_id }).catch(() => {});
    throw error;
  }
}

/** A line that begins with a slash is a command of the new session, not a message to the model. */
async function runCommand(line: string, session_id: string, app: App): Promise<string> {
  const { runTyped } = await app.load(() => import("../session/on_demand.ts"));
  const call: CallVerb = (name, params) => app.client.call(name, params);
  const typed = await runTyped(line, session_id, call, {
    stop: () => Promise.resolve(),
    giveBack() {},
    open() {},
  });
  if (!("text" in typed)) return visible(typed.said ?? "");
  await app.client.call("session.send", { session_id, text: typed.text });
  return "";
}
