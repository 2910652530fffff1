"""The acts of the demo, each with one `play(scene)` that prints figures and checks what they must show."""
