import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { useApp } from "../app.ts";
import { explain, type Result } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import { Check } from "../ui/check.tsx";
import { Icon } from "../ui/icon.tsx";
import { Path } from "../ui/path.tsx";

interface PickerProps {
  /** Where it opens. */
  path: string;
  /** Told each directory that is entered. */
  onPick(path: string): void;
}

/** Opens a picker, and closes it. */
export function BrowseButton({ open }: { open: Signal<boolean> }) {
  return (
    <Button icon="folder" aria-expanded={open.value} onClick={() => open.value = !open.value}>
      Browse
    </Button>
  );
}

/** Walks the directories of the machine that the daemon runs on. */
export function DirectoryPicker({ path, onPick }: PickerProps) {
  const { client } = useApp();
  const listing = useSignal<Result<"daemon.list_dirs"> | undefined>(undefined);
  const error = useSignal<string | undefined>(undefined);
  const hidden = useSignal(false);
  const list = useRef<HTMLUListElement>(null);

  const open = async (to: string | undefined) => {
    try {
      const found = await client.ask("daemon.list_dirs", { path: to, hidden: hidden.value });
      listing.value = found;
      error.value = undefined;
      return found;
    } catch (thrown) {
      error.value = explain(thrown);
    }
  };
  const enter = async (to: string) => {
    const found = await open(to);
    if (found === undefined) return;
    onPick(found.path);
    list.current?.querySelector("button")?.focus();
  };
  useEffect(() => {
    open(path.trim() || undefined);
  }, []);

  const shown = listing.value;
  return (
    <div class="picker">
      <div class="picker-head">
        <Button
          label="Parent directory"
          icon="up"
          tone="quiet"
          disabled={shown?.parent === undefined}
          onClick={() => enter(shown!.parent!)}
        />
        <Path path={shown?.path ?? "…"} />
        <Check label="Hidden" value={hidden} onChange={() => void open(shown?.path)} />
      </div>
      {error.value && <p class="field-error" role="alert">{error}</p>}
      <ul ref={list} aria-label="Directories">
        {shown?.directories.map(({ name, path: inside, repository }) => (
          <li key={inside}>
            <button type="button" onClick={() => enter(inside)}>
              <Icon name={repository ? "repository" : "folder"} />
              <span class="clip">{name}</span>
              {repository && <span class="badge">git</span>}
            </button>
          </li>
        ))}
        {shown?.directories.length === 0 && <li class="picker-empty">No directories</li>}
        {shown?.truncated && <li class="picker-empty">More directories exist; type the path</li>}
      </ul>
    </div>
  );
}
