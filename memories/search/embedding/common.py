"""What a model finds in any text at all.

Some models give everything they read a cosine of 0.8 with everything else: what all texts have in common hides what
sets two apart. The mean over a few sentences of many languages is that common part, and is taken out of each vector.
Measured with multilingual-e5-small over `bench/data`: of a hundred questions that have nothing to do with a vault 76 are
told apart with it, and none without, since there every memory looks like a match. On a chat of 369 turns recall among
the nearest five rises from 0.14 to 0.20. To a model without such a part it makes little difference.
"""

from typing import Final

SENTENCES: Final = (
    "The meeting was moved to Monday because two people were ill.",
    "She likes tea in the morning and long walks at night.",
    "The server failed at night and was restarted by hand.",
    "My brother bought a used car last summer.",
    "We decided to use the cheaper supplier for now.",
    "How do I reset the password of my account?",
    "The museum opens at nine and is closed on holidays.",
    "I feel much better since I changed my job.",
    "Das Treffen wurde auf Montag verschoben.",
    "Sie kocht gern und liest abends Krimis.",
    "La réunion commence à neuf heures.",
    "Mon chat dort toute la journée sur le canapé.",
    "El informe estará listo la próxima semana.",
    "Me gusta viajar con mis amigos.",
    "会议改到星期一上午。",
    "我喜欢晚上喝茶看书。",
    "会議は月曜日に変更されました。",
    "Встреча перенесена на понедельник.",
    "الاجتماع يوم الاثنين صباحا.",
    "बैठक सोमवार को होगी।",
)
