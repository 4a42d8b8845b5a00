/**
 * Draws one diagram. It runs in a frame with an origin of its own and a policy that lets nothing in
 * or out, after the package, which is a script of the same page (`install/web.ts`).
 */
import { type Answer, type Asked, CODE_MAX, STATEMENTS_MAX } from "./message.ts";

/** What the package puts into the page. */
declare const mermaid: {
  initialize(config: Record<string, unknown>): void;
  render(id: string, code: string): Promise<{ svg: string }>;
};

/** What a diagram may not set by itself. */
const OURS = [
  "secure",
  "securityLevel",
  "startOnLoad",
  "maxTextSize",
  "maxEdges",
  "suppressErrorRendering",
  "theme",
  "themeVariables",
  "themeCSS",
  "darkMode",
  "fontFamily",
  "altFontFamily",
  "htmlLabels",
  "dompurifyConfig",
];

addEventListener("message", async ({ source, data, ports: [port] }: MessageEvent<Asked>) => {
  if (source !== parent) return;
  const answer: Answer = await draw(data).catch((error) => ({ failure: why(error) }));
  port.postMessage(answer);
}, { once: true });

/** Returns the size of what it has drawn. */
async function draw({ code, colours, dark }: Asked): Promise<Answer> {
  const { back, node, text, line, accent, plots } = colours;
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    secure: OURS,
    maxTextSize: CODE_MAX,
    maxEdges: STATEMENTS_MAX,
    htmlLabels: false,
    fontFamily: "system-ui, sans-serif",
    theme: "base",
    look: "classic",
    darkMode: dark,
    themeVariables: {
      darkMode: dark,
      background: back,
      mainBkg: node,
      primaryColor: node,
      primaryTextColor: text,
      primaryBorderColor: line,
      secondaryColor: back,
      secondaryTextColor: text,
      tertiaryColor: back,
      tertiaryTextColor: text,
      lineColor: line,
      textColor: text,
      titleColor: text,
      edgeLabelBackground: back,
      noteBkgColor: back,
      noteTextColor: text,
      noteBorderColor: line,
      activationBorderColor: accent,
      sectionBkgColor: node,
      sectionBkgColor2: node,
      altSectionBkgColor: back,
      taskBkgColor: node,
      taskBorderColor: line,
      taskTextColor: text,
      taskTextDarkColor: text,
      taskTextLightColor: text,
      taskTextOutsideColor: text,
      taskTextClickableColor: text,
      activeTaskBkgColor: node,
      activeTaskBorderColor: accent,
      doneTaskBkgColor: back,
      doneTaskBorderColor: line,
      critBkgColor: back,
      critBorderColor: accent,
      gridColor: line,
      todayLineColor: accent,
      pieTitleTextColor: text,
      pieLegendTextColor: text,
      pieSectionTextColor: back,
      pieStrokeColor: back,
      pieOuterStrokeColor: line,
      pieOpacity: "1",
      ...Object.fromEntries(plots.map((colour, n) => [`pie${n + 1}`, colour])),
      fontFamily: "system-ui, sans-serif",
    },
  });
  const root = document.documentElement;
  root.style.colorScheme = dark ? "dark" : "light";
  root.style.background = back;
  const { svg } = await mermaid.render("diagram", code);
  document.body.className = "fitted";
  document.body.innerHTML = svg;
  const drawn = document.querySelector("svg")!;
  const { width, height } = drawn.viewBox.baseVal;
  // The package states a share of the width and a largest one; a picture has a size.
  drawn.setAttribute("style", "");
  drawn.setAttribute("width", `${width}`);
  drawn.setAttribute("height", `${height}`);
  // A link would lead the frame away.
  for (const link of document.querySelectorAll("a")) link.replaceWith(...link.childNodes);
  return { width, height };
}

/** The first line of what the package says. */
function why(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (/^No diagram type detected/.test(message)) return "its kind is not known here";
  return message.split("\n")[0].replace(/:\s*$/, "");
}
