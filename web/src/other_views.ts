/**
 * The views that are opened after another one. They are one file: cut into one for each, with what
 * they share in files of its own, they were larger by a tenth and took more requests.
 */
import "./main.tsx";
export { default as Missions } from "./missions/view.tsx";
export { default as Mission } from "./mission/view.tsx";
export { default as Tools } from "./tools/view.tsx";
export { default as Memory } from "./memory/view.tsx";
export { default as Tasks } from "./tasks/view.tsx";
export { default as Task } from "./task/view.tsx";
export { default as Cost } from "./cost/view.tsx";
export { default as Settings } from "./settings/view.tsx";
