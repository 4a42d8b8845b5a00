import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useApp } from "../app.ts";
import { matchPath } from "../router.ts";
import {
  explain,
  isSubscribeVerb,
  type Params,
  type SubscribeVerb,
  type VerbName,
} from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import { useSubmit } from "../ui/use_submit.ts";
import type { VerbInfo } from "./palette.tsx";
import { ResultText } from "./result_text.tsx";
import { SchemaFields } from "./schema_fields.tsx";
import { fieldsOf, type JsonSchema, paramsOf } from "./schema_form.ts";

/** Verbs such as a build or a mission take their time. */
const RUN_DEADLINE_MS = 60 * 60_000;

/** Pushed events that are shown: the last ones. */
const EVENTS_SHOWN = 100;

/** Parameters that the view tells. */
function idsHere(path: string): Record<string, string> {
  const here = matchPath("/sessions/:id", path) ??
    matchPath("/sessions/:id/lanes/:lane_id", path);
  return here ? { session_id: here.id, lane_id: here.lane_id ?? "" } : {};
}

/** Takes a verb's parameters, runs it and shows what it gave. */
export function VerbForm({ verb, onBack }: { verb: VerbInfo; onBack(): void }) {
  const app = useApp();
  const fields = fieldsOf(verb.input as JsonSchema);
  const values = useSignal(idsHere(app.router.path.value));
  const outcome = useSignal<{ text: string; ok: boolean } | undefined>(undefined);
  const form = useRef<HTMLFormElement>(null);
  // Before the next key: the box that had the focus has gone.
  useLayoutEffect(() => {
    const first = form.current!.querySelector<HTMLElement>(
      "input, select, textarea, [type=submit]",
    );
    first?.focus();
  }, []);

  const stop = useRef(() => {});
  useEffect(() => () => stop.current(), []);

  /** Follows what a verb pushes, until the form is closed. */
  const follow = (name: SubscribeVerb, params: Params<SubscribeVerb>) => {
    const lines: string[] = [];
    const show = (ok: boolean) => outcome.value = { ok, text: lines.join("\n") || "Waiting …" };
    show(true);
    stop.current = app.client.subscribe(name, {
      params: () => params,
      event({ sub: _, ...event }) {
        lines.push(JSON.stringify(event));
        if (lines.length > EVENTS_SHOWN) lines.shift();
        show(true);
      },
      ended(error) {
        lines.push(error ? explain(error) : "The end");
        show(error === undefined);
      },
    });
  };
  const { busy, error, submit } = useSubmit(async () => {
    stop.current();
    outcome.value = undefined;
    const params = paramsOf(fields, values.value);
    if (isSubscribeVerb(verb.name)) return follow(verb.name, params as Params<SubscribeVerb>);
    const result = await app.client.call(verb.name as VerbName, params as Params<VerbName>, {
      timeout_ms: RUN_DEADLINE_MS,
    });
    outcome.value = { ok: true, text: JSON.stringify(result, null, 2) };
    app.sessions.refresh();
  });

  return (
    <form ref={form} class="form" onSubmit={submit}>
      <p class="verb-summary">{verb.summary}</p>
      <SchemaFields fields={fields} values={values} />
      <footer class="dialog-foot">
        <Button onClick={onBack}>Back</Button>
        <Button
          type="submit"
          tone={verb.destructive ? "danger" : "primary"}
          aria-busy={busy.value}
        >
          Run {verb.name}
        </Button>
      </footer>
      {error.value !== undefined && <ResultText ok={false} text={error.value} />}
      {outcome.value && <ResultText {...outcome.value} />}
    </form>
  );
}
