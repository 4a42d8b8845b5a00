import "../main.tsx";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { useApp } from "../app.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { useMedia } from "../ui/use_media.ts";
import { visible } from "../../../src/base/visible.ts";
import { answerOf, type Asked, type Colours, nameOf, refusal } from "./message.ts";

/** A page of the daemon's that draws one diagram and can do nothing else. */
const PAGE = "/diagram.html";
/** A diagram that takes longer is ended. */
const TIME_MAX_MS = 5_000;

interface DiagramProps {
  code: string;
  /** Copies the code. */
  onCopy(): Promise<void>;
}

/** A diagram as a picture, and its code; the code alone where it cannot be drawn. */
export function Diagram({ code, onCopy }: DiagramProps) {
  const failure = useSignal(refusal(code));
  const as_code = useSignal(false);
  const whole = useSignal(false);
  const failed = (why: string) => failure.value = why;
  const is_drawn = failure.value === undefined;
  return (
    <>
      <figcaption>
        <span>mermaid</span>
        <span class="diagram-acts">
          {is_drawn && (
            <>
              <Button
                tone="quiet"
                aria-pressed={as_code.value}
                onClick={() => as_code.value = !as_code.value}
              >
                Code
              </Button>
              <Button tone="quiet" label="Enlarge the diagram" onClick={() => whole.value = true}>
                Enlarge
              </Button>
            </>
          )}
          <Button tone="quiet" label="Copy code" onClick={onCopy}>Copy</Button>
        </span>
      </figcaption>
      {!is_drawn && <p class="diagram-failure">Not drawn: {failure.value}</p>}
      {is_drawn && !as_code.value
        ? <Drawn code={code} onFailed={failed} />
        : <Source code={code} />}
      {whole.value && (
        <Dialog title="Diagram" kept wide onClose={() => whole.value = false}>
          <div class="diagram-whole" tabIndex={0} role="group" aria-label="The whole diagram">
            <Drawn
              code={code}
              whole
              onFailed={(why) => {
                whole.value = false;
                failed(why);
              }}
            />
          </div>
        </Dialog>
      )}
    </>
  );
}

function Source({ code }: { code: string }) {
  return <pre tabIndex={0} role="group" aria-label="Code of the diagram"><code>{code}</code></pre>;
}

interface DrawnProps {
  code: string;
  /** At its own size, however large. */
  whole?: boolean;
  onFailed(why: string): void;
}

/** The frame, with the code in its place until the picture is there. It is made anew in other colours. */
function Drawn({ code, whole = false, onFailed }: DrawnProps) {
  const { theme } = useApp();
  const themes = [
    theme.value,
    useMedia("(prefers-color-scheme: dark)"),
    useMedia("(prefers-contrast: more)"),
    useMedia("(forced-colors: active)"),
  ].join(" ");
  return <Frame key={`${themes} ${code}`} code={code} whole={whole} onFailed={onFailed} />;
}

function Frame({ code, whole, onFailed }: Required<DrawnProps>) {
  const frame = useRef<HTMLIFrameElement>(null);
  const drawn = useSignal(false);
  const size = useSignal<string | undefined>(undefined);
  const end = useRef(() => {});
  useEffect(() => () => end.current(), []);
  const begin = () => {
    const { port1, port2 } = new MessageChannel();
    const timer = setTimeout(() => onFailed("it takes too long"), TIME_MAX_MS);
    end.current = () => {
      clearTimeout(timer);
      port1.close();
    };
    port1.onmessage = ({ data }) => {
      end.current();
      const { failure, width, height } = answerOf(data);
      if (failure !== undefined) return onFailed(visible(failure));
      if (whole && width && height) size.value = `inline-size:${width}px;block-size:${height}px`;
      drawn.value = true;
    };
    const asked: Asked = { code, ...coloursOf(frame.current!) };
    // It has no origin that could be named.
    frame.current!.contentWindow!.postMessage(asked, "*", [port2]);
    // It loads once: what came into it later would not be ours.
    frame.current!.onload = () => onFailed("it has left its page");
  };
  return (
    <div class="diagram-picture">
      {!drawn.value && <Source code={code} />}
      <iframe
        ref={frame}
        class={drawn.value ? undefined : "undrawn"}
        style={size.value}
        title={`Diagram: ${nameOf(code)}`}
        // There is nothing to do in it, and it would keep the keys of the page.
        tabIndex={-1}
        sandbox="allow-scripts"
        referrerpolicy="no-referrer"
        loading="lazy"
        src={PAGE}
        onLoad={begin}
      />
    </div>
  );
}

/** The colours of the page, as they are now. */
function coloursOf(element: HTMLElement): Pick<Asked, "colours" | "dark"> {
  const probe = element.parentElement!.appendChild(document.createElement("span"));
  const forced = matchMedia("(forced-colors: active)").matches;
  const colour = (ours: string, systems: string) => {
    probe.style.color = forced ? systems : `var(--${ours})`;
    return getComputedStyle(probe).color;
  };
  const colours: Colours = {
    back: colour("sunken", "Canvas"),
    node: colour("accent-soft", "Canvas"),
    text: colour("text", "CanvasText"),
    line: colour("border-strong", "CanvasText"),
    accent: colour("accent", "LinkText"),
    plots: [1, 2, 3, 4, 5, 6].map((n) => colour(`plot-${n}`, "CanvasText")),
  };
  probe.remove();
  const [red, green, blue] = (colours.back.match(/[\d.]+/g) ?? []).map(Number);
  return { colours, dark: red + green + blue < 384 };
}
