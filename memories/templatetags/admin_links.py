"""Links of the admin's pages. What is stored is text: it is escaped, and followed only where it is a web address."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memories.admin.linking import followable, row_url
from memories.models import Conflict, Entity, Memory

register = template.Library()


@register.simple_tag
def memory_link(vault_id: str, ref: str) -> SafeString:
    return format_html('<a class="ref" href="{}">{}</a>', row_url(Memory, vault_id, ref), ref)


@register.simple_tag
def conflict_link(vault_id: str, ref: str) -> SafeString:
    return format_html('<a class="ref" href="{}">{}</a>', row_url(Conflict, vault_id, ref), ref)


@register.simple_tag
def entity_link(vault_id: str, ref: str, name: str) -> SafeString:
    return format_html('<a href="{}">{}</a>', row_url(Entity, vault_id, ref), name)


@register.simple_tag
def citation(vault_id: str, url: str) -> SafeString:
    """Show a citation: http and https as a link that gives nothing away, a capture's page, else plain text."""
    target = followable(vault_id, url)
    if target is None:
        return format_html('<span class="ref">{}</span>', url)
    return format_html('<a href="{}" rel="noopener noreferrer nofollow">{}</a>', target, url)
