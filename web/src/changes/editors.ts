/** Links that open a file in an editor of this machine. */
import { signal } from "@preact/signals";
import { keep, kept } from "./kept.ts";

const FILE = (scheme: string) => (path: string, line: number) =>
  `${scheme}://file${encoded(path)}:${line}`;
const OPEN = (scheme: string) => (path: string, line: number) =>
  `${scheme}://open?file=${encodeURIComponent(path)}&line=${line}`;

/** Each by its name, with the link of a file and a line. */
export const EDITORS: Record<string, { name: string; link(path: string, line: number): string }> = {
  vscode: { name: "VS Code", link: FILE("vscode") },
  insiders: { name: "VS Code Insiders", link: FILE("vscode-insiders") },
  cursor: { name: "Cursor", link: FILE("cursor") },
  windsurf: { name: "Windsurf", link: FILE("windsurf") },
  zed: { name: "Zed", link: FILE("zed") },
  idea: { name: "IntelliJ IDEA", link: OPEN("idea") },
  pycharm: { name: "PyCharm", link: OPEN("pycharm") },
  webstorm: { name: "WebStorm", link: OPEN("webstorm") },
};

const STORED = "svc.editor";

const known = kept(STORED) ?? "";

/** The same for all sessions and tabs of this browser. */
export const editor = signal(Object.hasOwn(EDITORS, known) ? known : "vscode");

/** Chooses the editor of all later links. */
export function chooseEditor(name: string): void {
  editor.value = name;
  keep(STORED, name);
}

/** Each part of a path encoded, with a leading slash: `C:\a` is `/C:/a`. */
function encoded(path: string): string {
  const parts = path.replaceAll("\\", "/").split("/");
  if (parts[0] !== "") parts.unshift("");
  return parts.map((it) => /^[A-Za-z]:$/.test(it) ? it : encodeURIComponent(it)).join("/");
}
