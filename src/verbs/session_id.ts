export { session_id } from "../protocol/schemas/session.ts";
