import { useSignal } from "@preact/signals";
import { useApp } from "../app.ts";
import { duration } from "../format.ts";
import { ResultText } from "../palette/result_text.tsx";
import { SchemaFields } from "../palette/schema_fields.tsx";
import { fieldsOf, type FormField, type JsonSchema, paramsOf } from "../palette/schema_form.ts";
import type { Result } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { useSubmit } from "../ui/use_submit.ts";
import type { Scope, Tool } from "./server_card.tsx";

/** The server's own time limit is shorter, unless the operator gave it a very long one. */
const CALL_DEADLINE_MS = 60 * 60_000;

/** What a tool takes whose schema names nothing. */
const ANYTHING: FormField = {
  name: "arguments",
  kind: "json",
  required: false,
  description: "The schema defines no arguments; enter a JSON object",
  choices: [],
};

interface CallToolProps {
  tool: Tool;
  scope: Scope;
  onCalled(): void;
  onClose(): void;
}

/** Takes a tool's arguments, calls it, and shows what it answers. */
export function CallTool({ tool, scope, onCalled, onClose }: CallToolProps) {
  const { client } = useApp();
  const values = useSignal<Record<string, string>>({});
  const outcome = useSignal<Result<"mcp.call_tool"> | undefined>(undefined);
  const named = fieldsOf(tool.input_schema as JsonSchema);
  const fields = named.length === 0 ? [ANYTHING] : named;

  const { busy, error, submit } = useSubmit(async () => {
    outcome.value = undefined;
    try {
      const given = paramsOf(fields, values.value);
      outcome.value = await client.call("mcp.call_tool", {
        server: tool.server,
        tool: tool.tool,
        arguments: (named.length === 0 ? given.arguments ?? {} : given) as Record<string, unknown>,
        ...scope,
      }, { timeout_ms: CALL_DEADLINE_MS });
    } finally {
      onCalled();
    }
  });

  return (
    <Dialog title={`Try ${tool.tool}`} onClose={onClose} wide>
      <form class="form" onSubmit={submit}>
        <p class="verb-summary">{tool.description}</p>
        <SchemaFields fields={fields} values={values} />
        <footer class="dialog-foot">
          <Button onClick={onClose}>Close</Button>
          <Button
            type="submit"
            tone={tool.access === "read" ? "primary" : "danger"}
            aria-busy={busy.value}
          >
            Call {tool.tool}
          </Button>
        </footer>
        {error.value !== undefined && <p class="form-error" role="alert">{error}</p>}
        {outcome.value && <Outcome {...outcome.value} />}
      </form>
    </Dialog>
  );
}

function Outcome({ ok, output, duration_ms }: Result<"mcp.call_tool">) {
  return (
    <>
      <p class="step-note">
        {ok ? "It answered" : "The tool reported a failure,"} after {duration(duration_ms)}:
      </p>
      <ResultText ok={ok} text={output} />
    </>
  );
}
