/** The views of sessions: one file, for what makes it large is in all. */
import "../main.tsx";
export { default as Session } from "./view.tsx";
export { default as Lane } from "./lane_view.tsx";
export { default as Questions } from "./questions.tsx";
