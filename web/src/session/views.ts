/** The views of one session: one file, for what makes it large is in both. */
import "../main.tsx";
export { default as Session } from "./view.tsx";
export { default as Lane } from "./lane_view.tsx";
