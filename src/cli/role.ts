/** Roles as they are typed. */
import type { Role } from '../../protocol/index.ts'
import { role } from '../rpc/shapes.ts'

export const ROLE_WORDS = role.options.join(' and ')

export function isRole(text: string): text is Role {
  return role.safeParse(text).success
}
