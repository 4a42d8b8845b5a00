import type { ComponentChildren } from "preact";
import { useApp } from "../app.ts";
import { Code } from "../highlight/code.tsx";
import { languageOf } from "../../../src/base/highlight/languages.ts";
import { Button } from "./button.tsx";
import { useLoaded } from "./use_loaded.ts";

const loadDiagram = async () => (await import("../diagram/diagram.tsx")).Diagram;

interface CodeBlockProps {
  language: string;
  code: string;
  /** No more is written into it. */
  closed: boolean;
}

/** Code of a text: in its colours, or as the diagram that it describes. */
export function CodeBlock({ language, code, closed }: CodeBlockProps) {
  const app = useApp();
  const onCopy = () => app.copy(code);
  const written = (
    <>
      <figcaption>
        <span>{language || "text"}</span>
        <Button tone="quiet" label="Copy code" onClick={onCopy}>Copy</Button>
      </figcaption>
      <pre>
        <code>
          <Code code={code} language={closed ? languageOf(language) : undefined} />
        </code>
      </pre>
    </>
  );
  if (!closed || language !== "mermaid") return <figure class="code">{written}</figure>;
  return (
    <figure class="code diagram" style={`--lines:${code.split("\n").length}`}>
      <Picture code={code} onCopy={onCopy} instead={written} />
    </figure>
  );
}

interface PictureProps {
  code: string;
  onCopy(): Promise<void>;
  instead: ComponentChildren;
}

/** A diagram; until its code is there, and where it does not come, what stands in its place. */
function Picture({ instead, ...props }: PictureProps) {
  const { Part } = useLoaded(loadDiagram);
  return Part ? <Part key={props.code} {...props} /> : <>{instead}</>;
}
