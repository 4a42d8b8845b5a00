import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { visible } from "../../../src/base/visible.ts";
import type { CallVerb } from "../../../src/features/verb_types.ts";
import { useApp } from "../app.ts";
import { type Result, RpcError } from "../rpc/api.ts";
import type { AnsweredFirst } from "../session/chat_commands.ts";
import { useAttached } from "../session/attached.tsx";
import { deliver, isCommand } from "../session/deliver.ts";
import { MessageBox } from "../session/message_box.tsx";
import { enter_sends, isSend } from "../session/send_key.tsx";
import { Button } from "../ui/button.tsx";
import { Picker } from "../ui/picker.tsx";
import { type Approval, APPROVAL_WORDS } from "./approval.ts";
import { directoriesFor } from "./directories.ts";
import { namesOf, recentDirectories } from "./groups.ts";
import { ModelPicker } from "./model_picker.tsx";
import { choose, new_session, TAB } from "./new_session.ts";

const NO_FILES = "A command takes no files";

/** A session that begins has nothing to stop, to give back, to save or to go to. */
const NOTHING = { stop: async () => {}, save: async () => {}, giveBack() {}, open() {} };

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
  const write = (text: string) => choose({ text });
  const append = (more: string) => write(new_session.peek().text + more);
  const attached = useAttached(TAB, append, new_session.value.tab ?? TAB);
  // From now on, its files are kept with this tab.
  useEffect(() => choose({}), []);
  const empty = text.trim() === "" && attached.files.length === 0;
  /** Answers a command that needs no session. @returns what a session begins with for others */
  const answer = async (): Promise<Partial<AnsweredFirst> | undefined> => {
    const { answerFirst } = await app.load(() => import("../on_demand.ts"));
    const call: CallVerb = (name, params) => client.ask(name, params);
    const now = { model: model ?? info?.default_model ?? "default", approval, workdir };
    const answered = await answerFirst(text, now, call);
    if (answered === undefined || answered.begin) return answered ?? {};
    said.value = visible(answered.said);
    choose({ ...answered.choose, text: leftAfter(text) });
    box.current?.focus();
  };
  /** Whether a session has a message: then it works. */
  const hasMessage = async (session_id: string) => {
    const { events } = await client.ask("session.history", { session_id });
    return events.some(({ type }) => type === "user.message");
  };
  const start = async () => {
    if (empty || busy.value) return;
    said.value = "";
    busy.value = true;
    await app.attempt(async () => {
      const first = isCommand(text) ? await answer() : {};
      if (first === undefined) return;
      if (workdir === undefined) {
        asked.value++;
        return;
      }
      const { files } = attached;
      if (first.begin && files.length > 0) throw new Error(NO_FILES);
      const { session_id } = await client.call("session.start", {
        workdir,
        approval,
        ...(model && { model }),
        ...first.begin,
      });
      let { said } = first;
      try {
        if (!first.begin) said = await deliver(app, session_id, text, files, NOTHING);
        if (said !== undefined && files.length > 0) throw new Error(NO_FILES);
      } catch (error) {
        // It may have been taken, without an answer that came here.
        if (!await hasMessage(session_id)) {
          // Nothing is left of the session, and what was written stays in the box. What is perhaps
          // still on its way must find it.
          if (!isLost(error)) await client.call("session.delete", { session_id }).catch(() => {});
          throw error;
        }
      }
      choose({ text: leftAfter(text), workdir });
      attached.remove(files);
      // Whoever went on to something else meanwhile is left there.
      if (box.current) router.go(`/sessions/${session_id}`, { said: said ?? "" });
      sessions.refresh();
    });
    busy.value = false;
  };
  return (
    <div class="composer-frame">
      <MessageBox
        id="new-session"
        label="New session"
        class="new-session"
        rows={3}
        placeholder="What should the agent do?"
        input={box}
        text={text}
        write={write}
        said={said}
        attached={attached}
        place={workdir === undefined ? undefined : { workdir }}
        onKeyDown={(event) => {
          if (!isSend(event, enter_sends.value)) return;
          event.preventDefault();
          start();
        }}
      >
        <Picker
          label="Directory"
          text={workdir === undefined
            ? "Choose a directory"
            : namesOf([...recent, workdir]).get(workdir)!}
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
          disabled={empty}
          aria-busy={busy.value}
        >
          Start
        </Button>
      </MessageBox>
    </div>
  );
}

/** Whether no answer came. */
function isLost(error: unknown): boolean {
  return error instanceof RpcError && (error.code === "timeout" || error.code === "disconnected");
}

/** What is written now, without what was sent: what was written meanwhile is for another one. */
function leftAfter(sent: string): string {
  const { text } = new_session.peek();
  return text === sent ? "" : text;
}
