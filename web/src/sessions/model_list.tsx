import { useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { knownModels } from "./known_models.ts";

interface ModelListProps {
  /** What the input names as its `list`. */
  id: string;
  /** Undefined while it is asked for. */
  info: Result<"daemon.info"> | undefined;
}

/** The models that an input offers. */
export function ModelList({ id, info }: ModelListProps) {
  const { sessions } = useApp();
  return (
    <datalist id={id}>
      {knownModels(sessions.items.value ?? [], info).map((it) => <option key={it} value={it} />)}
    </datalist>
  );
}
